#include "evaluator/runner/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "evaluator/check/made_up.h"
#include "evaluator/runner/bench_case.h"
#include "evaluator/runner/final_timing.h"
#include "evaluator/runner/quick_timing.h"
#include "evaluator/timing/statistics.h"
#include "evaluator/trace.h"

namespace hone::runner {
namespace {

using protocol::Case;
using protocol::MeasureReply;
using protocol::MeasureRequest;

constexpr double kCandidateFloor_s = 2;      // any candidate may run this long
constexpr double kTimeFactor = 30;           // or this many times the reference,
constexpr double kTimeFactorIfVerySlow = 4;  // or this many: a search has no use for it
constexpr int kQuickSamples = 20;
/// A candidate may take so many times the best known time, and so long in any case. Whoever takes
/// more cannot win, and every further second of it is one that others do not get.
constexpr double kFarSlower = 10, kSlowerFloor_s = 0.5;
/// Many short launches are to end between two of them.
constexpr double kWithinFactor = 1.25;
/// A kernel that runs ends with its process alone. The next one opens the GPU again and runs the
/// reference so often (recheck) before it takes a candidate.
constexpr double kRunsAnew = 2;
/// Slower than this, the reference is not run beside a candidate, but a few times alone.
constexpr double kSlowReference_s = 20e-3;
constexpr std::uint64_t kPartForAnswers = 3;  // of the GPU's memory: what is remembered
/// Where the reference is very slow, in the final stage: sets of other inputs that are tried at the
/// timed size in any case, and for how long others are.
constexpr std::size_t kFewestOtherInputs = 2;
constexpr double kOtherInputs_s = 2;
constexpr double kPreciseFactor = 100;  // of the time limit, in the final checks: doubles are slow

bool is_slow(double reference_s) { return reference_s > kSlowReference_s; }

/// How long the candidate may run when the reference took `reference_s`.
double candidate_limit(const MeasureRequest& request, double reference_s) {
  const bool very_slow = reference_s > 1e-6 * kVerySlow_us;
  const double factor = very_slow ? kTimeFactorIfVerySlow : kTimeFactor;
  return reference_s +
         std::min(request.timeout_s, std::max(kCandidateFloor_s, factor * reference_s));
}

struct Checked {
  double max_rel_error = 0;
  double candidate_us = 0;            ///< of a run with whatever was in the caches
  double reference_s = 0;             ///< likewise; 0: its answer was known
  std::vector<std::uint64_t> hashes;  ///< of the candidate's outputs
};

/// The reference's answer to the inputs of `seed`, in bench.reference(): remembered, or from a run.
/// How long that took [s]; 0: it was remembered.
Step<double> answer_of_reference(BenchCase& bench, std::uint64_t seed, double limit_s,
                                 KnownAnswers* known) {
  if (known != nullptr) {
    const auto recalled = known->recall(bench.reference(), seed);
    if (!recalled) return std::unexpected(recalled.error());
    if (*recalled) return 0;
  }
  HONE_STEP(bench.make_inputs(seed));
  HONE_STEP(bench.load(bench.reference()));
  HONE_STEP(bench.prepare(bench.reference(), kPoison));
  const auto us = bench.run(bench.reference(), limit_s);
  if (!us) return us;
  HONE_STEP(bench.inspect(bench.reference()));
  if (known != nullptr) HONE_STEP(known->keep(bench.reference(), seed));
  return *us * 1e-6;
}

/// One candidate run with `poison`, then the comparison with what the reference answers to the same
/// inputs, made afresh. Leaves the reference's outputs wiped. `known` may be null.
Step<Checked> check_once(BenchCase& bench, const MeasureRequest& request, const Case& one,
                         std::uint8_t poison, double candidate_limit_s,
                         KnownAnswers* known = nullptr,
                         const std::optional<SlowerThan>& slower = std::nullopt) {
  HONE_STEP(bench.make_inputs(one.seed));
  HONE_STEP(bench.load(bench.second()));
  HONE_STEP(bench.prepare(bench.second(), poison));
  const auto us = bench.run(bench.second(), candidate_limit_s, slower);
  const bool can_look =
      us || (us.error().failure.verdict == Verdict::kSlower && !us.error().failure.context_lost);
  if (can_look) HONE_STEP(bench.inspect(bench.second()));
  if (!us) return std::unexpected(us.error());

  Checked checked;
  checked.candidate_us = *us;
  if (request.final_stage) {
    auto hashes = bench.output_hashes(bench.second());
    if (!hashes) return std::unexpected(hashes.error());
    checked.hashes = std::move(*hashes);
  }
  const auto reference_s = answer_of_reference(bench, one.seed, request.timeout_s, known);
  if (!reference_s) return std::unexpected(reference_s.error());
  checked.reference_s = *reference_s;
  const auto error = bench.compare(check::for_inputs(request.tolerance, one.made_up), one.precise,
                                   request.timeout_s);
  if (!error) return std::unexpected(error.error());
  checked.max_rel_error = *error;
  HONE_STEP(bench.wipe(bench.reference()));
  return checked;
}

/// Without atomics there is no reason for two runs on the same inputs to differ, but a race.
std::optional<Blamed> differing(const Case& one, const Checked& first, const Checked& second) {
  if (!one.repeatable || first.hashes == second.hashes) return std::nullopt;
  return Blamed{{Verdict::kRace, false, false,
                 "two runs on the same inputs gave different answers, and it uses no atomics"},
                false};
}

Side& side_of(BenchCase& bench, check::Answer answer) {
  if (answer == check::Answer::kTruth) return bench.precise();
  if (answer == check::Answer::kRounded) return bench.rounded();
  return answer == check::Answer::kReference ? bench.reference() : bench.second();
}

}  // namespace

MeasureReply reply_for(const Blamed& blamed) {
  MeasureReply reply;
  reply.verdict = blamed.failure.verdict;
  reply.reference_failed = blamed.reference;
  reply.context_lost = blamed.failure.context_lost;
  reply.detail = blamed.failure.detail;
  return reply;
}

Measure::Measure(cuda::Gpu& gpu, double opened_s)
    : gpu_(gpu),
      opened_s_(opened_s),
      answers_(gpu, static_cast<std::uint64_t>(gpu.facts().memory_bytes) / kPartForAnswers),
      clocks_(cuda::Clocks::open(gpu.pci_address())) {}

MeasureReply Measure::handle(MeasureRequest request) {
  trace(fmt::format("measure: {} of {} checks", request.final_stage ? "final stage" : "quick stage",
                    request.checks.size()));
  request.tolerance = check::for_inputs(request.tolerance, false);
  same_bits_ = true;
  said_.clear();
  if (request.bits == protocol::SameBits::kRequired) {
    // Then nothing but the reference itself says what is right.
    request.tolerance = check::same_bits(request.tolerance);
    request.timed.precise.reset();
    for (Case& one : request.checks) one.precise.reset();
  }
  if (!request.timed.candidate) return admit(request);
  const std::string& key = request.timed.reference.key;
  if (!request.final_stage && !request.reference_samples_us.empty() &&
      !reference_samples_.contains(key)) {
    auto again = recheck(request);
    if (!again) return reply_for(again.error());
    reference_samples_[key] = std::move(*again);
  }
  return evaluate(request);
}

Step<void> Measure::check_inputs(const Case& one, const MeasureRequest& request, double limit_s,
                                 const std::string& where) {
  return check::drawn_anew(
      one,
      [&](const Case& drawn, bool& perhaps_by_chance) {
        return check_inputs_once(drawn, request, limit_s, where, perhaps_by_chance);
      },
      [](const Step<void>& answer) { return answer.has_value(); });
}

Step<void> Measure::check_inputs_once(const Case& one, const MeasureRequest& request,
                                      double limit_s, const std::string& where,
                                      bool& perhaps_by_chance) {
  BenchCase bench(gpu_, one.reference, *one.candidate, false);
  bench.hold_to(request.math);
  HONE_STEP(bench.allocate());
  HONE_STEP(bench.make_inputs(one.seed));
  for (Side* side : {&bench.second(), &bench.reference()}) {
    HONE_STEP(bench.make_inputs(one.seed));
    HONE_STEP(bench.load(*side));
    HONE_STEP(bench.prepare(*side, kPoison));
    HONE_STEP(bench.run(*side, side->reference ? request.timeout_s : limit_s));
    HONE_STEP(bench.inspect(*side));
  }
  const auto wrong = [&](const std::string& detail) -> Step<void> {
    return std::unexpected(
        Blamed{{Verdict::kWrongResult, false, false,
                fmt::format("{} ({}on {})", detail, where, to_string(one.inputs))},
               false});
  };
  const Tolerance tolerance = check::for_inputs(request.tolerance, one.made_up);
  const auto plain = bench.agreement(bench.reference(), bench.second(), tolerance);
  if (!plain) return std::unexpected(plain.error());
  if (!plain->comparable) return {};
  same_bits_ = same_bits_ && bench.same_answers();
  const auto& buffers = one.reference.program.buffers;
  const auto outputs = std::ranges::count_if(
      buffers, [](const ConcreteBuffer& buffer) { return is_output(buffer.role); });
  if (std::cmp_less(plain->outputs.size(), outputs)) return wrong(plain->detail);

  std::optional<bool> precise;
  const auto truth = [&]() -> Step<bool> {
    if (!precise && one.precise) {
      const auto ran = bench.run_precise(*one.precise, kPreciseFactor * request.timeout_s);
      if (!ran) return std::unexpected(ran.error());
      precise = *ran;
    }
    return precise.value_or(false);
  };
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!is_output(buffers[i].role)) continue;
    const auto decides = check::judge_made_up(
        tolerance, one.inputs, request.exact,
        [&](check::Answer want, check::Answer got, const Tolerance& allowed) {
          return bench.compared(side_of(bench, want), side_of(bench, got), i, allowed);
        },
        truth, [&] { return bench.run_rounded(one.precise, kPreciseFactor * request.timeout_s); });
    if (!decides) return std::unexpected(decides.error());
    if (!decides->ok()) {
      perhaps_by_chance = decides->perhaps_by_chance;
      return wrong(
          check::describe(*decides, buffers[i].name, buffers[i].type, buffers[i].elements()));
    }
  }
  return {};
}

Step<void> Measure::check_other_inputs(const MeasureRequest& request, InputSet set,
                                       double limit_s) {
  Case one = request.timed;
  one.inputs = set;
  one.made_up = true;
  for (protocol::Runnable* runnable : {&one.reference, &*one.candidate})
    runnable->program = with_inputs(std::move(runnable->program), set, one.seed);
  if (one.precise)
    one.precise->program = with_inputs(std::move(one.precise->program), set, one.seed);
  // The emulator asks that.
  if (rounds_products(one.reference.program, set, one.seed)) return {};
  return check_inputs(one, request, limit_s, "at the timed size, ");
}

/// Two of each search, which nobody else knows; one where the reference is slow. The code is loaded
/// anew between a check and a timed run, so that it would not know them again.
Measure::Contents Measure::contents_of(const std::string& reference) {
  const auto [found, fresh] = contents_.try_emplace(reference);
  if (fresh) {
    std::random_device random;
    for (std::uint64_t* seed : {&found->second.checked, &found->second.timed})
      *seed = std::uint64_t{random()} << 32 | random();
  }
  return found->second;
}

Case Measure::timed_case(const MeasureRequest& request) {
  Case one = request.timed;
  one.seed = contents_of(one.reference.key).checked;
  return one;
}

Step<void> Measure::check_at_check_sizes(const MeasureRequest& request, double& max_rel_error) {
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const Case& one = request.checks[i];
    if (one.inputs != InputSet::kOwn) {
      // The emulator asks that.
      if (rounds_products(one.reference.program, one.inputs, one.seed)) continue;
      HONE_STEP(check_inputs(one, request, candidate_limit(request, 0.1), ""));
      continue;
    }
    BenchCase bench(gpu_, one.reference, *one.candidate, false);
    bench.hold_to(request.math);
    HONE_STEP(bench.allocate());
    // What is right by chance over one poison is not over the other. The quick stage takes them
    // in turns, the final stage both.
    std::vector<std::uint8_t> poisons = {i % 2 == 0 ? kPoison : kOtherPoison};
    if (request.final_stage) poisons = {kPoison, kOtherPoison};
    std::optional<Checked> first;
    for (const std::uint8_t poison : poisons) {
      const auto checked = check_once(bench, request, one, poison, candidate_limit(request, 0.1));
      if (!checked) return std::unexpected(checked.error());
      max_rel_error = std::max(max_rel_error, checked->max_rel_error);
      if (first) {
        if (auto race = differing(one, *first, *checked)) return std::unexpected(*race);
      }
      first = *checked;
    }
    same_bits_ = same_bits_ && bench.same_answers();
  }
  trace("checks passed");
  return {};
}

/// A process that is ended costs what starting the next one does. So a kernel is waited for as long
/// as that takes, at least: whatever it would have taken, at most twice the time is lost.
std::optional<SlowerThan> Measure::slower_than(const MeasureRequest& request,
                                               double expected_s) const {
  if (request.best_time_us <= 0) return std::nullopt;
  SlowerThan slower{.best_us = request.best_time_us};
  // The best was measured when the reference took so long; in this process it may take another
  // time.
  const double reference_us = timing::median(request.reference_samples_us);
  if (reference_us > 0) slower.best_us *= 1e6 * expected_s / reference_us;
  slower.between_s = std::max(kSlowerFloor_s, kFarSlower * 1e-6 * slower.best_us);
  slower.within_s = std::max(kWithinFactor * slower.between_s, opened_s_ + kRunsAnew * expected_s);
  return slower;
}

Step<FinalTimes> Measure::time_quick(const MeasureRequest& request, double expected_s,
                                     double& max_rel_error) {
  const Case one = timed_case(request);
  const Contents contents = contents_of(one.reference.key);
  BenchCase bench(gpu_, one.reference, *one.candidate, false);
  bench.hold_to(request.math);
  bench.remember_in(answers_);
  HONE_STEP(bench.allocate());
  const double limit_s = candidate_limit(request, expected_s);
  const auto checked = check_once(bench, request, one, kOtherPoison, limit_s, &answers_,
                                  slower_than(request, expected_s));
  if (!checked) return std::unexpected(checked.error());
  max_rel_error = std::max(max_rel_error, checked->max_rel_error);

  // New inputs and freshly loaded code: nothing kept from the check is of use.
  const std::uint64_t timed_seed = request.timed.seed ^ 0xD1B54A32D192ED03ULL;
  auto& reference_us = reference_samples_[one.reference.key];
  if (reference_us.empty()) {
    HONE_STEP(bench.make_inputs(timed_seed));
    HONE_STEP(bench.load(bench.reference()));
    auto samples = quick_samples(
        bench, bench.reference(), timed_seed,
        {.most = kReferenceSamples, .budget_s = kReferenceBudget_s, .limit_s = request.timeout_s});
    if (!samples) return std::unexpected(samples.error());
    HONE_STEP(bench.wipe(bench.reference()));
    reference_us = std::move(*samples);
  }
  FinalTimes timed;
  timed.reference_us = reference_us;
  // A run that takes so long is as good a sample as any, and others are worth more than its second.
  const bool long_enough = checked->candidate_us > kVerySlow_us;
  // Of several launches the GPU idled before each part: too much of a short run.
  const bool in_one_part = bench.second().code->launches() == 1;
  if (long_enough || (in_one_part && cannot_win(checked->candidate_us, request.best_time_us))) {
    timed.candidate_us = {checked->candidate_us};
    same_bits_ = same_bits_ && bench.same_answers();
    return timed;
  }
  HONE_STEP(bench.make_inputs(timed_seed));
  HONE_STEP(bench.load(bench.second()));
  auto samples = quick_samples(bench, bench.second(), timed_seed,
                               {.most = kQuickSamples,
                                .budget_s = kQuickBudget_s,
                                .limit_s = limit_s,
                                .best_time_us = request.best_time_us});
  if (!samples) return std::unexpected(samples.error());
  timed.candidate_us = std::move(*samples);
  // What a timed run leaves behind counts, too. It cannot tell that it is the last one.
  const std::uint64_t last = is_slow(expected_s) ? contents.checked : contents.timed;
  HONE_STEP(bench.make_inputs(last));
  const auto last_us = bench.timed_run(bench.second(), kTimedPoison, limit_s);
  if (!last_us) return std::unexpected(last_us.error());
  timed.candidate_us.push_back(*last_us);
  HONE_STEP(bench.inspect(bench.second()));
  HONE_STEP(answer_of_reference(bench, last, request.timeout_s, &answers_));
  auto error = bench.compare(request.tolerance, one.precise, request.timeout_s);
  if (!error) {
    if (error.error().failure.verdict == Verdict::kWrongResult)
      error.error().failure.detail += " (after the timed launches)";
    return std::unexpected(error.error());
  }
  timed.max_rel_error = *error;
  same_bits_ = same_bits_ && bench.same_answers();
  HONE_STEP(bench.wipe(bench.reference()));
  return timed;
}

Step<FinalTimes> Measure::time_finally(const MeasureRequest& request, double expected_s,
                                       double& max_rel_error) {
  const Case& one = request.timed;
  const bool known_program = is_slow(expected_s) && one.candidate->key == one.reference.key;
  std::vector<InputSet> others = known_program ? std::vector<InputSet>() : request.other_inputs;
  std::ranges::shuffle(others, std::mt19937_64(request.seed));
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < others.size(); ++i) {
    const double spent_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    // All of them were tried at the check sizes.
    if (i >= kFewestOtherInputs && expected_s > 1e-6 * kVerySlow_us && spent_s > kOtherInputs_s) {
      said_.push_back(
          fmt::format("compared at the timed size on {} of {} other inputs, as the "
                      "reference takes {:.2f} s",
                      i, others.size(), expected_s));
      break;
    }
    HONE_STEP(check_other_inputs(request, others[i], candidate_limit(request, 0.5)));
    trace(fmt::format("checked at the timed size on {}", to_string(others[i])));
  }
  BenchCase bench(gpu_, one.reference, *one.candidate, false);
  bench.hold_to(request.math);
  if (is_slow(expected_s)) bench.remember_in(answers_);
  HONE_STEP(bench.allocate());
  // What else there is to know of the reference, an admission has found out.
  if (known_program && !request.reference_samples_us.empty())
    return time_final_apart(bench, request, candidate_limit(request, expected_s), clocks_.get(),
                            answers_, 0);
  std::optional<Checked> first;
  for (const std::uint8_t poison : {kOtherPoison, kPoison}) {
    const double limit_s = candidate_limit(request, first ? first->reference_s : expected_s);
    KnownAnswers* const known = is_slow(expected_s) ? &answers_ : nullptr;
    const auto checked = check_once(bench, request, one, poison, limit_s, known);
    if (!checked) return std::unexpected(checked.error());
    max_rel_error = std::max(max_rel_error, checked->max_rel_error);
    if (first) {
      if (auto race = differing(one, *first, *checked)) return std::unexpected(*race);
    } else {
      first = *checked;
    }
  }
  trace("checked at the timed size");
  const double limit_s = candidate_limit(request, first->reference_s);
  auto times =
      is_slow(first->reference_s)
          ? time_final_apart(bench, request, limit_s, clocks_.get(), answers_, first->reference_s)
          : time_final(bench, request, limit_s, clocks_.get());
  same_bits_ = same_bits_ && bench.same_answers();
  return times;
}

MeasureReply Measure::evaluate(const MeasureRequest& request) {
  double max_rel_error = 0;
  const auto whole = [&]() -> Step<FinalTimes> {
    HONE_STEP(check_at_check_sizes(request, max_rel_error));
    const auto known = reference_samples_.find(request.timed.reference.key);
    const auto& samples =
        known != reference_samples_.end() ? known->second : request.reference_samples_us;
    const double expected_s = samples.empty() ? 0.5 : timing::median(samples) * 1e-6;
    return request.final_stage ? time_finally(request, expected_s, max_rel_error)
                               : time_quick(request, expected_s, max_rel_error);
  };

  const auto timed = whole();
  MeasureReply reply;
  if (!timed) {
    reply = reply_for(timed.error());
    reply.max_rel_error = max_rel_error;
    return reply;
  }
  reply.verdict = Verdict::kOk;
  reply.said = std::move(said_);
  reply.same_bits = same_bits_;
  reply.max_rel_error = std::max(max_rel_error, timed->max_rel_error);
  reply.warm_time_us = timing::median(timed->warm_us);
  reply.reference_warm_time_us = timing::median(timed->reference_warm_us);
  reply.discarded = timed->discarded;
  reply.clock_mhz = timed->clock_mhz;
  reply.outliers =
      timing::count_outliers(timed->candidate_us) + timing::count_outliers(timed->reference_us);
  reply.samples_us = timed->candidate_us;
  reply.reference_samples_us = timed->reference_us;
  reply.time_us = timing::median(timed->candidate_us);
  reply.reference_time_us = timing::median(timed->reference_us);
  const auto interval =
      timing::ratio_interval(timed->reference_us, timed->candidate_us, request.seed + 1);
  reply.ci95_low = interval.low;
  reply.ci95_high = interval.high;
  return reply;
}

}  // namespace hone::runner
