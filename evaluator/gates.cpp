// The gates of one evaluation, in order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>
#include <stop_token>

#include "candidates/hash.h"
#include "candidates/stop_watch.h"
#include "evaluator/check/atomics.h"
#include "evaluator/check/exact.h"
#include "evaluator/check/narrow_products.h"
#include "evaluator/check/outside.h"
#include "evaluator/evaluator_impl.h"
#include "evaluator/final_runners.h"
#include "evaluator/pool/gpu_set.h"
#include "evaluator/survey.h"
#include "evaluator/trace.h"
#include "evaluator/verdicts.h"

namespace hone {
namespace {

using protocol::Case;
using protocol::EmulateReply;
using protocol::Runnable;

/// Candidates at a GPU, and waiting for it, that is not to idle before others come.
constexpr std::size_t kBusyGpu = 5;
/// Modelling one block before a measurement may take as long as so many runs of the reference take
/// the GPU.
constexpr double kScreenedRuns = 1;
constexpr double kLeastScreened = 1e6;  // [units]
/// Times the reference alone: a candidate may have slowed it.
constexpr double kDrift = 1.1;
/// Of the reference, that a final stage may wait for: checks, other inputs, the fewest pairs.
constexpr double kFinalRuns = 60;
/// What looking for races at the timed size may take.
constexpr double kRacesAtTimed_s = 15;
/// A finalist that is ready waits so long for better ones that are not.
constexpr std::chrono::seconds kPatience(2);

bool uses_atomics(const Runnable& program) { return check::uses_atomics(program.compiled.ptx); }

/// A path in it may be no UTF-8.
std::string text_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Evaluation::code_hash.
std::string code_hash_of(const Runnable& runnable) {
  nlohmann::json launches = nlohmann::json(runnable.program).at("launches");
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const CompiledKernel* kernel = runnable.compiled.find(runnable.program.launches[i].kernel);
    if (kernel == nullptr || kernel->code_hash.empty()) return "";
    launches[i]["kernel"] = kernel->code_hash;
    launches[i]["registers"] = kernel->resources.registers;
  }
  // Which blocks are clusters is not in the code.
  std::string clusters;
  (void)check::any_statement(runnable.compiled.ptx, [&](std::string_view statement) {
    for (const std::string_view directive : {".reqnctapercluster", ".explicitcluster"})
      if (statement.starts_with(directive)) clusters += std::string(statement) + "\n";
    return false;
  });
  launches.push_back(clusters);
  return content_hash(text_of(launches));
}

/// Evaluation::timing_key.
std::string timing_key_of(const std::string& code_hash, const EvaluationRequest& request,
                          const Runnable& candidate) {
  if (code_hash.empty()) return "";
  const nlohmann::json parts = {code_hash, nlohmann::json(candidate.program).at("buffers"),
                                to_string(request.claims), request.by_rules};
  return content_hash(text_of(parts));
}

bool says_nothing(const EmulateReply& reply, std::size_t check) {
  return std::ranges::find(reply.unusable, static_cast<int>(check)) != reply.unusable.end();
}

}  // namespace

Case machine_code_only(Case one) {
  const auto strip = [](Runnable& runnable) {
    runnable.compiled.ptx.clear();
    runnable.compiled.log.clear();
  };
  strip(one.reference);
  if (one.candidate) strip(*one.candidate);
  if (one.precise) strip(*one.precise);
  return one;
}

class EvaluatorImpl::Gates {
 public:
  /// `quick`: what is never timed is compiled fast.
  Gates(EvaluatorImpl& evaluator, const EvaluationRequest& request, bool quick)
      : e_(evaluator), request_(request), quick_(quick) {
    if (request.stage == Stage::kFinal) {
      own_.emplace(e_);
      for_candidate_ = own_->for_candidate();
      for_reference_ = own_->for_reference();
      if (e_.gpu_) {
        place_.emplace(e_.finals_);
        e_.gpu_->freshen_soon();
      }
    }
  }

  Result<Evaluation> run();
  /// Compiles what the quick stage will need, and nothing else, until it is told to stop.
  void compile_only(std::stop_token stopping);

 private:
  /// Does the candidate go on? Where not, evaluation_ says why.
  using GoesOn = Result<bool>;
  GoesOn compile_timed();
  GoesOn screen();
  /// At the check sizes and, on an emulated device, the timed one, which is modelled then.
  GoesOn check();
  GoesOn measure();
  /// On the GPU before the checks.
  GoesOn measure_first();
  bool stop_at(Evaluation verdict);
  /// It is measured, and ends here.
  bool not_checked_further(std::string_view why);
  /// The time of the same machine code, where that is known.
  [[nodiscard]] std::optional<double> known_time() const;
  void take_known_time();
  /// Makes checks_; false: stopped.
  GoesOn compile_checks(CodeFor code_for);
  /// Of a final stage, whose compilers are its own: all of the candidate's checks at once.
  void compile_ahead(CodeFor code_for);
  Result<std::optional<Runnable>> precise_timed(CodeFor code_for);
  /// Of checks_ those that the GPU is to run: without what says nothing by `reply`; other inputs
  /// only where the emulator has not looked at them, `uncovered`.
  void give_to_the_gpu(const EmulateReply& reply, bool uncovered);
  /// Runners have no sources, so it is decided here.
  [[nodiscard]] bool can_be_exact() const {
    return request_.claims < MathLevel::kTf32 &&
           check::can_be_exact(request_.timed.reference, timed_.reference.compiled.ptx);
  }
  [[nodiscard]] protocol::SameBits same_bits() const {
    using protocol::SameBits;
    if (request_.math == MathLevel::kExact) return SameBits::kRequired;
    const bool noted = request_.claims == MathLevel::kExact && request_.stage == Stage::kFinal;
    return noted ? SameBits::kNoted : SameBits::kFree;
  }
  /// Code that is compiled fast fuses other multiplications and additions than code that is
  /// compiled well. The candidate's may be that of the timed size, so the reference's is compiled
  /// like it.
  [[nodiscard]] CodeFor checked_code(CodeFor otherwise) const {
    return same_bits() == protocol::SameBits::kFree ? otherwise : CodeFor::kTiming;
  }
  /// How one check is compiled where the others are `all`. What rules made for a size of ours is
  /// another program than the timed one: the emulator says whether they are right there.
  [[nodiscard]] CodeFor code_of(const CheckCase& check, CodeFor all) const {
    const bool emulator_alone = all == CodeFor::kTiming && check.hidden && request_.by_rules &&
                                same_bits() == protocol::SameBits::kFree;
    return emulator_alone ? CodeFor::kEmulator : all;
  }
  /// Evaluation::math, once all has passed.
  [[nodiscard]] MathLevel held_to() const {
    const bool to_the_bit = same_bits() != protocol::SameBits::kFree && same_bits_;
    if (request_.claims == MathLevel::kExact && !to_the_bit) return MathLevel::kReassociate;
    return request_.claims;
  }
  /// On a GPU, of a program of unknown origin: what is written at the timed size the GPU compares;
  /// that blocks or warps may meet there, where its order hides it, the emulator sees.
  Result<bool> look_for_races(protocol::EmulateRequest request);
  [[nodiscard]] std::string task_key() const {
    return EvaluatorImpl::slow_runs_key(timed_.reference.key, request_);
  }
  void learn_of_slow_runs(double measured_us) {
    e_.slow_runs_.learn(task_key(), timed_.candidate->key, evaluation_.modelled_us, measured_us);
  }
  /// Which made-up checks say something, by the reference alone.
  Result<EmulateReply> try_reference(protocol::EmulateRequest request);

  EvaluatorImpl& e_;
  const EvaluationRequest& request_;
  const bool quick_;
  std::optional<FinalRunners> own_;
  Effort for_candidate_, for_reference_;
  pool::Turn turn_ = pool::kUsualTurn;  ///< of the checks
  std::stop_token stopping_;            ///< of compile_only()
  Evaluation evaluation_;
  bool same_bits_ = true;                ///< of all answers so far, where that is asked for
  std::optional<InOrder::Place> place_;  ///< of a final stage on a GPU
  Case timed_;
  std::vector<Case> checks_;          ///< for the emulator
  std::vector<Case> checks_for_gpu_;  ///< none in the quick stage, but where the emulator cannot
  std::set<InputSet> other_inputs_;   ///< that say something
  double to_first_ = 1;               ///< see raise_alarm()
  /// That it waits for others, and they for it, until it has passed everything.
  std::optional<Outpacing::Check> checked_;
};

bool EvaluatorImpl::Gates::stop_at(Evaluation verdict) {
  evaluation_.verdict = verdict.verdict;
  evaluation_.detail = std::move(verdict.detail);
  evaluation_.measurement = {};
  evaluation_.timed_before = false;
  return false;
}

Result<bool> EvaluatorImpl::Gates::compile_timed() {
  const StopWatch compiling(evaluation_.gates.compile);
  auto candidate = e_.prepare_candidate(request_.timed.reference, request_.timed.candidate,
                                        for_candidate_, nullptr);
  if (!candidate) return std::unexpected(candidate.error());
  if (candidate->first.verdict != Verdict::kOk) return stop_at(std::move(candidate->first));
  auto reference = e_.prepare_reference(request_.timed.reference, for_reference_);
  if (!reference) return std::unexpected(reference.error());
  evaluation_.resources = e_.resources_of(candidate->second);
  evaluation_.code_hash = code_hash_of(candidate->second);
  evaluation_.timing_key = timing_key_of(evaluation_.code_hash, request_, candidate->second);
  timed_ = Case{.reference = std::move(*reference),
                .candidate = std::move(candidate->second),
                .seed = request_.timed.seed};
  timed_.repeatable = !uses_atomics(*timed_.candidate);
  if (const auto outside =
          check::looks_outside(timed_.reference.compiled.ptx, timed_.candidate->compiled.ptx);
      !outside.empty())
    return stop_at(verdict_of(
        Verdict::kRefused,
        fmt::format("it reads {}, which is no input of the task: what it answers could depend on "
                    "when it runs, and the reference does not read it",
                    outside)));
  // Three products are as precise as f32, but not of what copies have rounded.
  if (request_.claims < MathLevel::kTf32 &&
      check::copies_as_tf32(timed_.reference.program, timed_.reference.compiled.ptx,
                            timed_.candidate->program))
    return stop_at(verdict_of(
        Verdict::kRefused,
        "its tensor maps round f32 to tf32, which has fewer bits than what they read; that needs a "
        "task whose math is tf32 or reduced"));
  if (request_.claims >= MathLevel::kTf32x3) return true;
  const auto narrow = check::narrow_products(
      timed_.reference.program, timed_.reference.compiled.ptx, timed_.candidate->compiled.ptx);
  if (narrow.empty()) return true;
  return stop_at(verdict_of(
      Verdict::kRefused,
      fmt::format("it multiplies as {} on tensor cores, which has fewer bits than any input; that "
                  "needs a task whose math is tf32x3, tf32 or reduced",
                  narrow)));
}

std::optional<double> EvaluatorImpl::Gates::known_time() const {
  if (request_.stage != Stage::kQuick || request_.known_times == nullptr) return std::nullopt;
  const auto found = request_.known_times->find(evaluation_.timing_key);
  if (found == request_.known_times->end()) return std::nullopt;
  return found->second;
}

void EvaluatorImpl::Gates::take_known_time() {
  evaluation_.verdict = Verdict::kOk;
  evaluation_.measurement.time_us = *known_time();
  evaluation_.timed_before = true;
  trace("gates: its machine code was timed before");
}

Result<bool> EvaluatorImpl::Gates::screen() {
  if (!e_.gpu_ || request_.screen_above_us <= 0 || known_time()) return true;
  // The model spares a busy GPU. One that idles measures sooner than a processor models; but what
  // is asked to learn from, is modelled.
  const bool learns = !std::isfinite(request_.screen_above_us);
  const double reference_us = e_.gpu_->reference_us(timed_.reference.key);
  const bool dear = reference_us > SlowRuns::kSlow_us;
  if (!learns && !dear && e_.gpu_->waiting() < kBusyGpu) return true;
  if (!e_.begin_screening(dear)) return true;
  protocol::EmulateRequest model;
  model.arch = e_.info_.arch;
  model.timed = timed_;
  // A block that works for long, as where few blocks take all tiles in turn, is measured: to model
  // it takes longer than what that spares.
  model.most_units =
      std::max(kLeastScreened, kUnitsPerSecond * kScreenedRuns * 1e-6 * reference_us);
  StopWatch checking(evaluation_.gates.check);
  const auto reply = e_.emulate(model);
  checking.stop();
  e_.end_screening(evaluation_.gates.check);
  if (!reply) return std::unexpected(reply.error());
  // What the model cannot judge is measured; what goes wrong in it shows in the checks, too.
  if (reply->verdict != Verdict::kOk) return true;
  evaluation_.modelled_us = reply->time_us;
  evaluation_.screened = reply->time_us > request_.screen_above_us;
  if (evaluation_.screened) evaluation_.verdict = Verdict::kOk;
  return !evaluation_.screened;
}

Result<bool> EvaluatorImpl::Gates::compile_checks(CodeFor code_for) {
  const StopWatch compiling(evaluation_.gates.compile);
  if (own_ && code_for == CodeFor::kTiming) compile_ahead(code_for);
  checks_.clear();
  for (const auto& check : request_.checks) {
    if (stopping_.stop_requested()) return false;
    for_candidate_.code_for = for_reference_.code_for = code_of(check, code_for);
    const auto reference_program = with_inputs(check.reference, check.inputs, check.seed);
    auto candidate = e_.prepare_candidate(reference_program, check.candidate, for_candidate_,
                                          &*timed_.candidate);
    if (!candidate) return std::unexpected(candidate.error());
    auto reference = e_.prepare_reference(reference_program, for_reference_);
    if (!reference) {
      if (check.hidden && reference.error().code != ErrorCode::kInfrastructure) continue;
      return std::unexpected(reference.error());
    }
    if (candidate->first.verdict != Verdict::kOk) return stop_at(std::move(candidate->first));
    Effort for_precise = for_reference_;
    // The GPU is given what the task chose, the emulator alone the rest.
    if (code_for == CodeFor::kTiming)
      for_precise.code_for =
          check.inputs == InputSet::kOwn && for_reference_.code_for == CodeFor::kTiming
              ? CodeFor::kChecking
              : CodeFor::kEmulator;
    auto precise = e_.prepare_precise(reference_program, for_precise);
    if (!precise) return std::unexpected(precise.error());
    checks_.push_back({.reference = std::move(*reference),
                       .candidate = std::move(candidate->second),
                       .precise = std::move(*precise),
                       .seed = check.seed,
                       .inputs = check.inputs,
                       .made_up = check.hidden || check.inputs != InputSet::kOwn,
                       .in_part = check.in_part});
  }
  return true;
}

void EvaluatorImpl::Gates::compile_ahead(CodeFor code_for) {
  Effort effort = for_candidate_;
  // The answers are kept in memory. Checks with other inputs alone have the same text.
  std::vector<std::future<void>> compiling;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> texts;
  for (const auto& check : request_.checks) {
    const auto& defines = check.candidate.defines;
    if (!texts.emplace(check.candidate.source, std::map(defines.begin(), defines.end())).second)
      continue;
    effort.code_for = code_of(check, code_for);
    compiling.push_back(std::async(std::launch::async, [this, effort, &check] {
      (void)e_.prepare_candidate(check.reference, check.candidate, effort, &*timed_.candidate);
    }));
  }
}

Result<std::optional<Runnable>> EvaluatorImpl::Gates::precise_timed(CodeFor code_for) {
  Effort effort = for_reference_;
  effort.code_for = code_for;
  return e_.prepare_precise(request_.timed.reference, effort);
}

Result<bool> EvaluatorImpl::Gates::check() {
  // A large kernel takes NVRTC ten times as long to optimise and assemble as to translate. What is
  // timed is compiled well and, on a GPU, checked as it is; the code at the check sizes is never
  // timed, and the emulator needs PTX alone. With a GPU the final stage checks it again, compiled
  // well, on the emulator and on the GPU, but see code_of().
  if (auto go = compile_checks(quick_ ? checked_code(CodeFor::kEmulator) : CodeFor::kTiming);
      !go || !*go)
    return go;
  protocol::EmulateRequest request;
  request.arch = e_.info_.arch;
  request.profile = e_.profile_text_;
  request.tolerance = request_.tolerance;
  request.exact = can_be_exact();
  request.math = request_.claims;
  request.bits = same_bits();
  request.threads = e_.check_threads();
  request.checks = checks_;
  request.is_final = request_.stage == Stage::kFinal;
  request.by_rules = request_.by_rules;
  request.allowance = request_.allowance;
  request.places = request_.places;
  // The reference as its own candidate is modelled once: a slow one takes seconds.
  const bool is_reference = timed_.candidate->key == timed_.reference.key;
  const auto modelled = [&] {
    return e_.modelled_reference(timed_, request_, own_ ? &own_->modeller : nullptr);
  };
  std::optional<EmulateReply> known;
  if (!e_.gpu_ && is_reference) {
    auto found = modelled();
    if (!found) return std::unexpected(found.error());
    known = std::move(*found);
  }
  const bool timed_before = !known && known_time();
  if (!e_.gpu_ && !known && !timed_before) {
    auto precise = precise_timed(CodeFor::kEmulator);  // a small timed size is compared, too
    if (!precise) return std::unexpected(precise.error());
    request.timed = timed_;
    request.timed->precise = std::move(*precise);
  }
  if (request.checks.empty() && !request.timed && !known) {
    if (!e_.gpu_ && timed_before) take_known_time();
    return true;
  }
  Result<EmulateReply> reply;
  {
    const StopWatch checking(evaluation_.gates.check);
    reply = own_ ? e_.emulate_divided(request, *own_) : e_.emulate(request, nullptr, 0, turn_);
  }
  if (!reply) return std::unexpected(reply.error());
  const bool uncovered = e_.gpu_ && beyond_the_emulator(*reply);
  evaluation_.max_rel_error = std::max(evaluation_.max_rel_error, reply->max_rel_error);
  evaluation_.reference_error = reply->reference_error;
  same_bits_ = same_bits_ && (uncovered || reply->same_bits);
  if (reply->verdict != Verdict::kOk && !uncovered) {
    if (reply->reference_failed)
      return infrastructure("the reference failed its check: " + reply->detail);
    return stop_at(verdict_of(reply->verdict, reply->detail));
  }
  if (known) {
    reply->time_us = known->time_us;
    reply->bound = known->bound;
    reply->counters = known->counters;
    reply->time_error = known->time_error;
  }
  if (!e_.gpu_ && timed_before) {
    take_known_time();
    return true;
  }
  if (!e_.gpu_) {
    const auto reference = modelled();
    if (!reference) return std::unexpected(reference.error());
    e_.set_modelled(evaluation_, *reply, *reference, request_, timed_.reference.key);
    if (!reply->compared.empty())
      evaluation_.note = "compared at the timed size: " + reply->compared;
    if (!reply->not_compared.empty())
      evaluation_.note +=
          fmt::format("{}not compared {}{}", evaluation_.note.empty() ? "" : "; ",
                      reply->not_compared.starts_with("at larger") ? "" : "at the timed size: ",
                      reply->not_compared);
    evaluation_.verdict = Verdict::kOk;
    return true;
  }
  if (!quick_ && !uncovered && !request_.by_rules && !is_reference)
    if (auto go = look_for_races(request); !go || !*go) return go;
  if (uncovered) {  // then the GPU runs them
    evaluation_.note = fmt::format("{}: {}", kNotEmulated, reply->detail);
    reply = try_reference(std::move(request));
    if (!reply) return std::unexpected(reply.error());
    if (auto go = compile_checks(checked_code(CodeFor::kChecking)); !go || !*go) return go;
  }
  if (uncovered || !quick_) give_to_the_gpu(*reply, uncovered);
  return true;
}

Result<bool> EvaluatorImpl::Gates::look_for_races(protocol::EmulateRequest request) {
  auto precise = precise_timed(CodeFor::kEmulator);
  if (!precise) return std::unexpected(precise.error());
  request.checks.clear();
  request.timed = timed_;
  request.timed->precise = std::move(*precise);
  // A few blocks tell, or all of a small program. But blocks that wait for one another only all
  // together go on.
  request.by_rules = !check::exchanges_words(timed_.candidate->compiled.ptx);
  const StopWatch checking(evaluation_.gates.check);
  const auto look = [&] {
    return e_.emulate(request, own_ ? &own_->emulators.front() : nullptr, kRacesAtTimed_s);
  };
  // Wrong in another order, or with fewer bits than f32 has: neither does a GPU show.
  const auto is_found = [](const EmulateReply& reply) {
    return !reply.reference_failed &&
           (reply.verdict == Verdict::kRace || reply.verdict == Verdict::kFault ||
            reply.verdict == Verdict::kWrongResult);
  };
  auto reply = look();
  if (reply && !request.by_rules && reply->verdict != Verdict::kOk && !is_found(*reply)) {
    request.by_rules = true;  // all of it took too long
    reply = look();
  }
  if (!reply) return std::unexpected(reply.error());
  if (!is_found(*reply)) return true;
  return stop_at(verdict_of(reply->verdict, reply->detail));
}

Result<EmulateReply> EvaluatorImpl::Gates::try_reference(protocol::EmulateRequest request) {
  for (Case& one : request.checks) one.candidate = one.reference;
  request.timed.reset();
  const StopWatch checking(evaluation_.gates.check);
  auto reply = own_ ? e_.emulate_divided(request, *own_) : e_.emulate(request, nullptr, 0, turn_);
  if (reply && reply->verdict != Verdict::kOk) {
    // The reference is beyond it, too: what was made up may break it on the GPU.
    for (std::size_t i = 0; i < request.checks.size(); ++i)
      if (request.checks[i].made_up) reply->unusable.push_back(static_cast<int>(i));
  }
  return reply;
}

void EvaluatorImpl::Gates::give_to_the_gpu(const EmulateReply& reply, bool uncovered) {
  checks_for_gpu_.clear();
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    Case& one = checks_[i];
    if (says_nothing(reply, i)) continue;
    if (one.inputs != InputSet::kOwn && !gathers_work(timed_.reference.program, one.inputs))
      other_inputs_.insert(one.inputs);
    if (one.inputs != InputSet::kOwn && !uncovered) continue;
    // code_of(); a candidate with the text of the timed size has its machine code.
    if (one.candidate->compiled.cubin.empty() || one.reference.compiled.cubin.empty()) continue;
    one.repeatable = !uses_atomics(*one.candidate);
    checks_for_gpu_.push_back(std::move(one));
  }
}

Result<bool> EvaluatorImpl::Gates::measure() {
  evaluation_.timed_before = false;
  // What the GPU must check it also times.
  if (known_time() && checks_for_gpu_.empty()) {
    take_known_time();
    return true;
  }
  protocol::MeasureRequest measure;
  measure.final_stage = request_.stage == Stage::kFinal;
  measure.exact = can_be_exact();
  measure.math = request_.claims;
  measure.bits = same_bits();
  if (measure.final_stage) {
    measure.other_inputs.assign(other_inputs_.begin(), other_inputs_.end());
    if (!timed_.repeatable && evaluation_.note.empty())
      evaluation_.note = "uses atomics: that two runs agree to the bit was not asked for";
  }
  for (const Case& one : checks_for_gpu_) measure.checks.push_back(machine_code_only(one));
  measure.timed = machine_code_only(timed_);
  auto precise = precise_timed(CodeFor::kChecking);
  if (!precise) return std::unexpected(precise.error());
  measure.timed.precise = std::move(*precise);
  measure.tolerance = request_.tolerance;
  measure.best_time_us = request_.best_time_us;
  measure.seed = request_.seed;
  measure.timeout_s = e_.options_.device_timeout_s;
  measure.timing_s = e_.options_.final_timing_s;
  const double reference_s = e_.gpu_->reference_us(timed_.reference.key) * 1e-6;
  // The limits of four launches, of runs in double, and of all that a final stage runs.
  const double deadline_s = 60 + (measure.timed.precise ? 6 : 4) * e_.options_.device_timeout_s +
                            (measure.final_stage ? kFinalRuns * reference_s : 0);
  if (place_) place_->wait(kPatience);
  const double before_s = evaluation_.gates.measure;
  // While it waited something may have been found that it cannot beat.
  const auto wanted = [&] {
    return measure.final_stage || evaluation_.modelled_us <= 0 ||
           evaluation_.measurement.time_us > 0 ||
           !e_.slow_runs_.is_hopeless(task_key(), evaluation_.modelled_us);
  };
  // Jobs whose kernels take longer than others' are not to stand behind them.
  const double modelled =
      reference_s > 0 ? evaluation_.modelled_us * 1e-6 / reference_s : evaluation_.modelled_us;
  const auto measured = e_.gpu_->measure(
      measure,
      {.modelled = modelled,
       .order = request_.order,
       // One that was measured before waits for nobody.
       .run_s = evaluation_.measurement.time_us > 0 ? 0 : evaluation_.modelled_us * 1e-6,
       .reference = timed_.reference.key},
      deadline_s, &evaluation_.gates, wanted);
  if (place_ && e_.finals_.size() > 1) e_.gpu_->freshen_soon();
  if (!measured) return std::unexpected(measured.error());
  if (measured->given_up) {
    evaluation_.screened = true;
    evaluation_.verdict = Verdict::kOk;
    return false;
  }
  const protocol::MeasureReply* const reply = &measured->reply;
  if (!measure.final_stage) e_.note_measured(evaluation_.gates.measure - before_s);
  if (reply->reference_failed)
    return infrastructure("the reference failed on the GPU: " + reply->detail);
  evaluation_.verdict = reply->verdict;
  evaluation_.detail = reply->detail;
  evaluation_.max_rel_error = std::max(evaluation_.max_rel_error, reply->max_rel_error);
  same_bits_ = same_bits_ && reply->same_bits;
  if (reply->verdict != Verdict::kOk) return false;
  if (!measure.final_stage && request_.by_rules) learn_of_slow_runs(reply->time_us);
  for (const std::string& line : reply->said)
    evaluation_.note += (evaluation_.note.empty() ? "" : "; ") + line;
  to_first_ = measured->to_first;
  e_.set_measured(evaluation_, *reply, request_, timed_.reference.key, to_first_);
  const double alone_us = measured->alone_us;
  if (measure.final_stage && alone_us > 0 && reply->reference_time_us > kDrift * alone_us) {
    evaluation_.note += fmt::format(
        "{}the reference took {:.0f} % longer beside this candidate than alone",
        evaluation_.note.empty() ? "" : "; ", 100 * (reply->reference_time_us / alone_us - 1));
  }
  return true;
}

Result<bool> EvaluatorImpl::Gates::measure_first() {
  if (auto go = measure(); !go || evaluation_.screened || evaluation_.verdict == Verdict::kSlower)
    return go;
  if (evaluation_.verdict != Verdict::kOk) {
    // The emulator says where and why, unless it finds nothing wrong.
    Evaluation on_gpu = evaluation_;
    const auto go = check();
    if (go && *go) evaluation_ = std::move(on_gpu);
    return go ? Result<bool>(false) : go;
  }
  const double time_us = evaluation_.measurement.time_us;
  bool outpaced = time_us > Outpacing::kOutpaced * request_.best_time_us;
  if (!outpaced) {
    checked_.emplace(e_.outpacing_, fmt::format("{} {}", task_key(), request_.places), time_us);
    outpaced = checked_->outpaced();
  }
  if (outpaced) return not_checked_further(kMuchSlower);
  // Until the fastest is checked, nothing is known to be faster than the reference.
  turn_ = for_candidate_.turn = for_reference_.turn = time_us;
  auto go = check();
  if (go && *go && !checks_for_gpu_.empty()) go = measure();
  // It may be the best, and a final stage checks everything itself.
  if (!go && e_.is_cancelled()) return not_checked_further(kSearchEnded);
  return go;
}

bool EvaluatorImpl::Gates::not_checked_further(std::string_view why) {
  evaluation_.verdict = Verdict::kOk;
  evaluation_.outpaced = true;
  evaluation_.detail = why;
  return true;
}

void EvaluatorImpl::Gates::compile_only(std::stop_token stopping) {
  stopping_ = std::move(stopping);
  if (auto go = compile_timed(); go && *go) (void)compile_checks(checked_code(CodeFor::kEmulator));
}

Result<Evaluation> EvaluatorImpl::Gates::run() {
  trace(fmt::format("gates: {} stage begins", request_.stage == Stage::kFinal ? "final" : "quick"));
  const auto pass = [&](Result<bool> go, auto next) { return go && *go ? next() : go; };
  auto go = pass(compile_timed(), [&] { return screen(); });
  const bool first = request_.measure_first && request_.stage == Stage::kQuick;
  if (e_.gpu_ && first && request_.best_time_us > 0) {
    go = pass(go, [&] { return measure_first(); });
  } else {
    go = pass(go, [&] { return check(); });
    if (e_.gpu_) go = pass(go, [&] { return measure(); });
  }
  if (!go) return std::unexpected(go.error());
  if (*go && !evaluation_.timed_before)
    e_.raise_alarm(evaluation_, request_, timed_.reference.key, to_first_);
  if (*go && checked_ && evaluation_.verdict == Verdict::kOk && !evaluation_.outpaced)
    checked_->passes();
  // Of a program of unknown origin only what has passed everything says how fast others must be.
  const bool timed = *go && evaluation_.verdict == Verdict::kOk && !evaluation_.screened &&
                     !evaluation_.outpaced && !evaluation_.timed_before;
  if (timed && e_.gpu_ && request_.stage == Stage::kQuick)
    learn_of_slow_runs(evaluation_.measurement.time_us);
  if (evaluation_.verdict == Verdict::kWrongResult && request_.math == MathLevel::kExact)
    evaluation_.detail += "; under math 'exact' floats must be the same to the bit";
  evaluation_.math = held_to();
  trace(fmt::format(
      "gates: {} stage ends: {}, {:.1f} us; compile {:.2f} s, check {:.2f} s, wait {:.2f} s, "
      "measure {:.2f} s",
      request_.stage == Stage::kFinal ? "final" : "quick", to_string(evaluation_.verdict),
      evaluation_.measurement.time_us, evaluation_.gates.compile, evaluation_.gates.check,
      evaluation_.gates.wait, evaluation_.gates.measure));
  return std::move(evaluation_);
}

void EvaluatorImpl::compile_ahead(const EvaluationRequest& request, std::stop_token stopping) {
  Gates(*this, request, true).compile_only(std::move(stopping));
}

Result<Evaluation> EvaluatorImpl::run_gates(const EvaluationRequest& request, bool quick) {
  return Gates(*this, request, quick).run();
}

}  // namespace hone
