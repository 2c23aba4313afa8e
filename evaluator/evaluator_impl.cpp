#include "evaluator/evaluator_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <thread>

#include "candidates/hash.h"
#include "candidates/stop_watch.h"
#include "evaluator/align_buffers.h"
#include "evaluator/calibrate/calibrate.h"
#include "evaluator/check/precise.h"
#include "evaluator/compile/compile.h"
#include "evaluator/compile/locate.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/device/emulator/profile_file.h"
#include "evaluator/pool/gpu_client.h"
#include "evaluator/verdicts.h"

namespace hone {
namespace {

using protocol::Case;
using protocol::EmulateReply;
using protocol::Runnable;
using Clock = std::chrono::steady_clock;

/// Cores that compile runners leave to the GPU's runner and to the search.
constexpr int kSparedForTheGpu = 2;
constexpr double kLargestError = 1e30;  // stands for infinity, which JSON cannot hold

/// 0 when the reference beats the roof by far: it reads a part of its inputs, so the roof says
/// nothing.
double roof_fraction(const Roof& roof, const Measurement& m) {
  if (m.time_us <= 0 || roof.time_us > 1.25 * m.reference_time_us) return 0;
  return roof.time_us / m.time_us;
}

double bounded_error(double error) {
  return std::isfinite(error) ? std::min(error, kLargestError) : kLargestError;
}

/// Without what a GPU does not read: PTX is the larger part of a message.
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

/// Its sums may come in another order each time.
bool uses_atomics(const Runnable& program) {
  const std::string& ptx = program.compiled.ptx;
  return ptx.find("atom.") != ptx.npos || ptx.find("red.") != ptx.npos;
}

/// What the emulator found to say nothing, what it could not try first, and inputs on which the
/// reference's own error decides: the emulator has looked at those.
void drop_for_the_gpu(std::vector<Case>& checks, const EmulateReply& reply, bool uncovered) {
  std::vector<Case> kept;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    Case& one = checks[i];
    const bool useless =
        std::ranges::find(reply.unusable, static_cast<int>(i)) != reply.unusable.end();
    if (useless || one.inputs != InputSet::kOwn || (uncovered && one.made_up)) continue;
    one.repeatable = !uses_atomics(*one.candidate);
    one.precise.reset();
    kept.push_back(std::move(one));
  }
  checks = std::move(kept);
}

/// The emulator could not judge: an instruction it lacks, or a reference too long for it. On a real
/// GPU the device's own check follows.
bool beyond_the_emulator(const EmulateReply& reply) {
  return reply.verdict == Verdict::kUnsupported ||
         (reply.verdict == Verdict::kTimeout && reply.reference_failed);
}

/// What a failed reference means to the user who submitted it.
Error reference_error(Verdict verdict, const std::string& detail, const DeviceSpec& device) {
  const auto failed = [&](const std::string& what) {
    return Error{ErrorCode::kTaskFailed, "the reference " + what};
  };
  switch (verdict) {
    case Verdict::kFault:
      return failed("faults: " + detail);
    case Verdict::kRace:
      return failed("has a data race: " + detail);
    case Verdict::kTimeout:
      return failed("does not finish: " + detail);
    case Verdict::kWrongResult:
    case Verdict::kTampering:
      return failed("is not usable: " + detail);
    case Verdict::kLaunchError:
      return {ErrorCode::kInvalidInput, "the reference cannot be launched: " + detail};
    case Verdict::kRefused:
      return {ErrorCode::kInvalidInput, detail};
    case Verdict::kUnsupported:
      return failed(fmt::format("needs what {} does not cover: {}", device.text(), detail));
    default:
      return failed(fmt::format("ended as {}: {}", to_string(verdict), detail));
  }
}

/// While a GPU's runner or the search waits for a core, a GPU idles: the others stand back.
EvaluatorOptions with_gpu(EvaluatorOptions options, bool gpu) {
  if (gpu) options.helper_niceness = 10;
  return options;
}

}  // namespace

int per_core(int wanted, int spared) {
  if (wanted > 0) return wanted;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores > 4 * spared ? cores - spared : cores, 1, 16);
}

int EvaluatorImpl::check_threads() const {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores / per_core(options_.check_processes), 1, 16);
}

EvaluatorImpl::EvaluatorImpl(DeviceSpec device, const EvaluatorOptions& options, DeviceInfo info,
                             LaunchLimits limits, std::unique_ptr<GpuClient> gpu)
    : device_(std::move(device)),
      options_(with_gpu(options, gpu != nullptr)),
      toolchain_(compile::Nvrtc::get() ? compile::toolchain_identity(compile::Nvrtc::get()->path)
                                       : ""),
      profile_text_(options.profile ? emulator::to_text(*options.profile) : ""),
      info_(std::move(info)),
      limits_(limits),
      cache_(options.compile_cache),
      compilers_("compile", per_core(options_.compile_processes, gpu ? kSparedForTheGpu : 0),
                 options_),
      emulators_("emulate", per_core(options_.check_processes), options_),
      gpu_(std::move(gpu)) {}

EvaluatorImpl::~EvaluatorImpl() = default;

struct EvaluatorImpl::FinalRunners {
  explicit FinalRunners(EvaluatorImpl& evaluator)
      : candidate("compile", 1, evaluator.options_),
        reference("compile", 1, evaluator.options_),
        emulator("emulate", 1, evaluator.options_),
        owner(evaluator) {
    const std::lock_guard lock(owner.mutex_);
    owner.final_runners_.insert(this);
    if (owner.cancelled_) cancel();
  }
  ~FinalRunners() {
    const std::lock_guard lock(owner.mutex_);
    owner.final_runners_.erase(this);
  }
  FinalRunners(const FinalRunners&) = delete;
  FinalRunners& operator=(const FinalRunners&) = delete;

  void cancel() {
    for (auto* pool : {&candidate, &reference, &emulator}) pool->cancel();
  }

  pool::RunnerPool candidate, reference, emulator;
  EvaluatorImpl& owner;
};

void EvaluatorImpl::cancel() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (auto* runners : final_runners_) runners->cancel();
  }
  compilers_.cancel();
  emulators_.cancel();
  if (gpu_) gpu_->cancel();
}

void EvaluatorImpl::resume() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = false;
  }
  compilers_.resume();
  emulators_.resume();
  if (gpu_) gpu_->resume();
}

Result<EmulateReply> EvaluatorImpl::emulate(const protocol::EmulateRequest& request,
                                            pool::RunnerPool* own) {
  pool::RunnerPool& pool = own != nullptr ? *own : emulators_;
  const auto outcome = pool.call(protocol::to_message(request), options_.check_timeout_s);
  EmulateReply reply;
  switch (outcome.status) {
    case pool::Outcome::Status::kReply:
      if (const auto error = protocol::error_of(outcome.reply))
        return infrastructure("the emulator's runner failed: " + *error);
      return protocol::emulate_reply_from(outcome.reply);
    case pool::Outcome::Status::kTimeout:
      reply.verdict = Verdict::kTimeout;
      reply.detail =
          fmt::format("the emulated check took more than {:.0f} s", options_.check_timeout_s);
      return reply;
    case pool::Outcome::Status::kDied:
    case pool::Outcome::Status::kMalformed:
      reply.verdict = Verdict::kCrash;
      reply.detail = "the emulator's runner died: " + outcome.detail;
      return reply;
    default:
      return infrastructure(outcome.detail);
  }
}

std::vector<KernelResources> EvaluatorImpl::resources_of(const Runnable& runnable) const {
  const auto* profile =
      options_.profile ? &options_.profile->profile : emulator::find_profile(info_.arch);
  std::vector<KernelResources> out;
  std::set<std::string> seen;
  for (const auto& launch : runnable.program.launches) {
    const CompiledKernel* kernel = runnable.compiled.find(launch.kernel);
    if (kernel == nullptr || !seen.insert(launch.kernel).second) continue;
    KernelResources r = kernel->resources;
    if (profile != nullptr) {
      const auto threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
      r.occupancy = emulator::occupancy(*profile, threads, std::max(1, r.registers),
                                        r.static_shared_bytes + launch.shared_bytes)
                        .fraction;
    }
    out.push_back(std::move(r));
  }
  return out;
}

Result<void> EvaluatorImpl::check_memory(const ConcreteProgram& reference) const {
  double bytes = 0;
  for (const auto& buffer : reference.buffers) {
    // Everything that is written exists twice: the candidate's and the reference's.
    bytes += static_cast<double>(buffer.bytes()) * (buffer.role == Role::kIn ? 1 : 2);
  }
  const double limit = 0.9 * static_cast<double>(info_.memory_bytes);
  if (info_.memory_bytes > 0 && bytes > limit) {
    return invalid(fmt::format(
        "the timed sizes need {:.1f} GB of memory (outputs count twice); {} has room for {:.1f} GB",
        bytes / 1e9, info_.name, limit / 1e9));
  }
  return {};
}

Result<double> EvaluatorImpl::modelled_reference_time(const Case& timed) {
  {
    std::lock_guard lock(mutex_);
    if (const auto it = reference_times_.find(timed.reference.key); it != reference_times_.end())
      return it->second;
  }
  protocol::EmulateRequest request;
  request.arch = info_.arch;
  request.profile = profile_text_;
  request.timed = Case{.reference = timed.reference, .seed = timed.seed};
  const auto reply = emulate(request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->verdict != Verdict::kOk)
    return std::unexpected(reference_error(reply->verdict, reply->detail, device_));
  std::lock_guard lock(mutex_);
  // The first one stands: every speedup of a run is against the same number.
  return reference_times_.emplace(timed.reference.key, reply->time_us).first->second;
}

void EvaluatorImpl::set_modelled(Evaluation& evaluation, const EmulateReply& reply,
                                 double reference_us, const EvaluationRequest& request) const {
  auto& m = evaluation.measurement;
  m.modelled = true;
  m.time_us = reply.time_us;
  m.reference_time_us = reference_us;
  m.speedup = reply.time_us > 0 ? reference_us / reply.time_us : 0;
  m.ci95_low = m.ci95_high = m.speedup;
  m.bound = reply.bound;
  m.samples_us = {reply.time_us};
  m.reference_samples_us = {reference_us};
  m.counters = reply.counters;
  const Roof roof = roof_of(request.timed.reference, request.flops, request.math, info_);
  m.roof_fraction = roof_fraction(roof, m);
}

void EvaluatorImpl::set_floor(const EvaluationRequest& request, const std::string& reference_key,
                              const std::set<std::string>& read_whole, double reference_us) {
  Floor floor =
      floor_of(request.timed.reference, request.flops, request.math, read_whole, info_.ceilings);
  // Then it was wrong: the timed size is another case than the check sizes, say.
  if (reference_us < floor.time_us) floor = {};
  const std::lock_guard lock(mutex_);
  floors_[reference_key] = std::move(floor);
}

void EvaluatorImpl::raise_alarm(Evaluation& evaluation, const std::string& reference_key) {
  Floor floor;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = floors_.find(reference_key); known != floors_.end())
      floor = known->second;
  }
  const auto& m = evaluation.measurement;
  if (evaluation.verdict != Verdict::kOk || m.time_us >= kImpossible * floor.time_us) return;
  evaluation.verdict = Verdict::kTampering;
  evaluation.faster_than_roof = true;
  evaluation.detail = fmt::format("faster than the roof: {:.2f} us{}, but {}", m.time_us,
                                  m.modelled ? " (modelled)" : "", floor.why);
}

Result<Ceilings> EvaluatorImpl::measure_ceilings() {
  if (!gpu_) return info_.ceilings;
  return calibrate::ceilings(device_.ordinal, options_);
}

Result<Evaluation> EvaluatorImpl::admit(const EvaluationRequest& request) {
  const auto begin = Clock::now();
  if (auto ok = check_memory(request.timed.reference); !ok) return std::unexpected(ok.error());
  const auto timed = prepare_reference(request.timed.reference);
  if (!timed) return std::unexpected(timed.error());
  protocol::EmulateRequest emulated;
  emulated.arch = info_.arch;
  emulated.profile = profile_text_;
  emulated.tolerance = request.tolerance;
  emulated.threads = check_threads();
  for (const auto& check : request.checks) {
    auto reference = prepare_reference(check.reference);
    if (!reference) return std::unexpected(reference.error());
    auto precise = prepare_precise(check.reference, {.code_for = CodeFor::kEmulator});
    if (!precise) return std::unexpected(precise.error());
    emulated.checks.push_back(
        {.reference = std::move(*reference), .precise = std::move(*precise), .seed = check.seed});
  }
  const Case timed_case{.reference = *timed, .seed = request.timed.seed};
  const auto checks = emulated.checks;
  if (!gpu_) emulated.timed = timed_case;

  Evaluation evaluation;
  evaluation.resources = resources_of(*timed);
  std::set<std::string> read_whole;
  if (!emulated.checks.empty() || emulated.timed) {
    const auto reply = emulate(emulated);
    if (!reply) return std::unexpected(reply.error());
    const bool uncovered = gpu_ && beyond_the_emulator(*reply);
    if (!uncovered) read_whole = reply->read_whole;
    evaluation.reference_error = reply->reference_error;
    if (reply->verdict != Verdict::kOk && !uncovered)
      return std::unexpected(reference_error(reply->verdict, reply->detail, device_));
    if (!gpu_) {
      double reference_us = 0;
      {
        std::lock_guard lock(mutex_);
        reference_us = reference_times_.emplace(timed->key, reply->time_us).first->second;
      }
      set_modelled(evaluation, *reply, reference_us, request);
      set_floor(request, timed->key, reply->read_whole, reference_us);
    }
  }
  if (gpu_) {
    protocol::MeasureRequest measure;
    for (const Case& one : checks) measure.checks.push_back(machine_code_only(one));
    measure.timed = machine_code_only(timed_case);
    measure.tolerance = request.tolerance;
    measure.seed = request.seed;
    measure.timeout_s = options_.device_timeout_s;
    const auto reply = gpu_->measure(measure, false, 60 + 4 * options_.device_timeout_s);
    if (!reply) return std::unexpected(reply.error());
    if (reply->verdict != Verdict::kOk)
      return std::unexpected(reference_error(reply->verdict, reply->detail, device_));
    auto& m = evaluation.measurement;
    m.time_us = m.reference_time_us = reply->time_us;
    m.speedup = m.ci95_low = m.ci95_high = 1;
    m.samples_us = m.reference_samples_us = reply->samples_us;
    {
      std::lock_guard lock(mutex_);
      reference_samples_[timed->key] = reply->samples_us;
    }
    set_floor(request, timed->key, read_whole, m.time_us);
    const Roof roof = roof_of(request.timed.reference, request.flops, request.math, info_);
    m.roof_fraction = roof_fraction(roof, m);
  }
  evaluation.verdict = Verdict::kOk;
  evaluation.elapsed_s = std::chrono::duration<double>(Clock::now() - begin).count();
  return evaluation;
}

Result<Evaluation> EvaluatorImpl::evaluate(const EvaluationRequest& request) {
  const auto begin = Clock::now();
  const bool quick = request.stage == Stage::kQuick;
  auto evaluation = run_gates(request, quick);
  // Code that is compiled fast may need what the same code compiled well does not: more registers,
  // a stack. No verdict comes from that.
  if (quick && (!evaluation || evaluation->verdict == Verdict::kLaunchError ||
                evaluation->verdict == Verdict::kUnsupported))
    evaluation = run_gates(request, false);
  if (!evaluation) {
    if (evaluation.error().code != ErrorCode::kInfrastructure)
      evaluation.error().code = ErrorCode::kInfrastructure;
    return evaluation;
  }
  evaluation->max_rel_error = bounded_error(evaluation->max_rel_error);
  evaluation->final_stage = request.stage == Stage::kFinal;
  evaluation->elapsed_s = std::chrono::duration<double>(Clock::now() - begin).count();
  return evaluation;
}

Result<std::pair<Evaluation, std::vector<Case>>> EvaluatorImpl::prepare_checks(
    const EvaluationRequest& request, const Runnable& timed, Effort for_candidate,
    Effort for_reference) {
  std::vector<Case> checks;
  for (const auto& check : request.checks) {
    const auto reference_program = with_inputs(check.reference, check.inputs, check.seed);
    auto candidate = prepare_candidate(reference_program, check.candidate, for_candidate, &timed);
    if (!candidate) return std::unexpected(candidate.error());
    auto reference = prepare_reference(reference_program, for_reference);
    if (!reference) {
      if (check.hidden && reference.error().code != ErrorCode::kInfrastructure) continue;
      return std::unexpected(reference.error());
    }
    if (candidate->first.verdict != Verdict::kOk)
      return std::pair(std::move(candidate->first), std::vector<Case>());
    auto precise = prepare_precise(reference_program,
                                   {.code_for = CodeFor::kEmulator, .own = for_reference.own});
    if (!precise) return std::unexpected(precise.error());
    checks.push_back({.reference = std::move(*reference),
                      .candidate = std::move(candidate->second),
                      .precise = std::move(*precise),
                      .seed = check.seed,
                      .inputs = check.inputs,
                      .made_up = check.hidden || check.inputs != InputSet::kOwn});
  }
  return std::pair(verdict_of(Verdict::kOk, ""), std::move(checks));
}

Result<Evaluation> EvaluatorImpl::run_gates(const EvaluationRequest& request, bool quick) {
  Evaluation evaluation;
  StopWatch compiling(evaluation.gates.compile);
  const auto stopped = [&](Evaluation by_gate) {
    compiling.stop();
    by_gate.gates = evaluation.gates;
    by_gate.resources = evaluation.resources;
    return by_gate;
  };
  std::optional<FinalRunners> own;
  Effort for_candidate, for_reference;
  if (request.stage == Stage::kFinal) {
    own.emplace(*this);
    for_candidate.own = &own->candidate;
    for_reference.own = &own->reference;
  }
  // Compile and static limits; the timed program first, since it is the one that must exist.
  Runnable timed;
  {
    auto prepared =
        prepare_candidate(request.timed.reference, request.timed.candidate, for_candidate, nullptr);
    if (!prepared) return std::unexpected(prepared.error());
    if (prepared->first.verdict != Verdict::kOk) return stopped(std::move(prepared->first));
    timed = std::move(prepared->second);
  }
  auto timed_reference = prepare_reference(request.timed.reference, for_reference);
  if (!timed_reference) return std::unexpected(timed_reference.error());
  evaluation.resources = resources_of(timed);

  protocol::EmulateRequest emulated;
  emulated.arch = info_.arch;
  emulated.profile = profile_text_;
  emulated.tolerance = request.tolerance;
  emulated.full_precision = request.math != MathLevel::kReduced;
  emulated.threads = check_threads();
  // A large kernel takes NVRTC ten times as long to optimise and assemble as to translate. What is
  // timed is compiled well and, on a GPU, checked as it is; the code at the check sizes is never
  // timed, and the emulator needs PTX alone. The final stage checks it again, compiled well, on the
  // emulator and on the GPU.
  for_candidate.code_for = for_reference.code_for = quick ? CodeFor::kEmulator : CodeFor::kTiming;
  auto prepared = prepare_checks(request, timed, for_candidate, for_reference);
  if (!prepared) return std::unexpected(prepared.error());
  if (prepared->first.verdict != Verdict::kOk) return stopped(std::move(prepared->first));
  emulated.checks = std::move(prepared->second);
  compiling.stop();
  Case timed_case{.reference = std::move(*timed_reference),
                  .candidate = std::move(timed),
                  .seed = request.timed.seed};
  timed_case.repeatable = !uses_atomics(*timed_case.candidate);
  if (!gpu_) {  // a small timed size is compared, too
    auto precise = prepare_precise(request.timed.reference,
                                   {.code_for = CodeFor::kEmulator, .own = for_reference.own});
    if (!precise) return std::unexpected(precise.error());
    timed_case.precise = std::move(*precise);
  }
  if (gpu_ && request.screen_above_us > 0) {
    protocol::EmulateRequest model;
    model.arch = info_.arch;
    model.timed = timed_case;
    StopWatch checking(evaluation.gates.check);
    const auto reply = emulate(model);
    checking.stop();
    if (!reply) return std::unexpected(reply.error());
    // What the model cannot judge is measured; what goes wrong in it shows in the checks, too.
    if (reply->verdict == Verdict::kOk) {
      evaluation.modelled_us = reply->time_us;
      evaluation.screened = reply->time_us > request.screen_above_us;
    }
    if (evaluation.screened) {
      evaluation.verdict = Verdict::kOk;
      return evaluation;
    }
  }
  auto checks = gpu_ && !quick ? emulated.checks : std::vector<Case>();
  if (!gpu_) emulated.timed = timed_case;

  if (!emulated.checks.empty() || emulated.timed) {
    StopWatch checking(evaluation.gates.check);
    const auto reply = emulate(emulated, own ? &own->emulator : nullptr);
    checking.stop();
    if (!reply) return std::unexpected(reply.error());
    const bool uncovered = gpu_ && beyond_the_emulator(*reply);
    evaluation.max_rel_error = reply->max_rel_error;
    evaluation.reference_error = reply->reference_error;
    if (uncovered && quick) {  // then the GPU runs them
      StopWatch compiling_again(evaluation.gates.compile);
      for_candidate.code_for = for_reference.code_for = CodeFor::kChecking;
      prepared = prepare_checks(request, *timed_case.candidate, for_candidate, for_reference);
      if (!prepared) return std::unexpected(prepared.error());
      if (prepared->first.verdict != Verdict::kOk) return stopped(std::move(prepared->first));
      checks = std::move(prepared->second);
    }
    drop_for_the_gpu(checks, *reply, uncovered);
    if (reply->verdict != Verdict::kOk && !uncovered) {
      if (reply->reference_failed)
        return infrastructure("the reference failed its check: " + reply->detail);
      evaluation.verdict = reply->verdict;
      evaluation.detail = reply->detail;
      return evaluation;
    }
    if (!gpu_) {
      const auto reference_us = modelled_reference_time(timed_case);
      if (!reference_us) return std::unexpected(reference_us.error());
      set_modelled(evaluation, *reply, *reference_us, request);
      evaluation.verdict = Verdict::kOk;
      raise_alarm(evaluation, timed_case.reference.key);
      return evaluation;
    }
  }

  protocol::MeasureRequest measure;
  measure.final_stage = request.stage == Stage::kFinal;
  if (measure.final_stage) {
    auto precise = prepare_precise(request.timed.reference,
                                   {.code_for = CodeFor::kChecking, .own = for_reference.own});
    if (!precise) return std::unexpected(precise.error());
    timed_case.precise = std::move(*precise);
  }
  for (const Case& one : checks) measure.checks.push_back(machine_code_only(one));
  measure.timed = machine_code_only(timed_case);
  measure.tolerance = request.tolerance;
  measure.best_time_us = request.best_time_us;
  measure.seed = request.seed;
  measure.timeout_s = options_.device_timeout_s;
  {
    std::lock_guard lock(mutex_);
    const auto known = reference_samples_.find(timed_case.reference.key);
    if (known != reference_samples_.end()) measure.reference_samples_us = known->second;
  }
  const auto reply = gpu_->measure(measure, measure.final_stage, 60 + 4 * options_.device_timeout_s,
                                   &evaluation.gates);
  if (!reply) return std::unexpected(reply.error());
  if (reply->reference_failed)
    return infrastructure("the reference failed on the GPU: " + reply->detail);
  evaluation.verdict = reply->verdict;
  evaluation.detail = reply->detail;
  evaluation.max_rel_error = std::max(evaluation.max_rel_error, reply->max_rel_error);
  if (reply->verdict != Verdict::kOk) return evaluation;
  auto& m = evaluation.measurement;
  m.time_us = reply->time_us;
  m.reference_time_us = reply->reference_time_us;
  m.speedup = m.time_us > 0 ? m.reference_time_us / m.time_us : 0;
  m.ci95_low = reply->ci95_low;
  m.ci95_high = reply->ci95_high;
  m.samples_us = reply->samples_us;
  m.reference_samples_us = reply->reference_samples_us;
  m.warm_time_us = reply->warm_time_us;
  m.reference_warm_time_us = reply->reference_warm_time_us;
  m.outliers = reply->outliers;
  m.discarded = reply->discarded;
  m.clock_mhz = reply->clock_mhz;
  if (request.stage == Stage::kQuick) {
    std::lock_guard lock(mutex_);  // a runner that replaced another may have found it changed
    reference_samples_[timed_case.reference.key] = reply->reference_samples_us;
  }
  const Roof roof = roof_of(request.timed.reference, request.flops, request.math, info_);
  m.roof_fraction = roof_fraction(roof, m);
  if (roof.time_us > 0) m.bound = roof.memory_bound ? "dram" : "compute";
  raise_alarm(evaluation, timed_case.reference.key);
  return evaluation;
}

}  // namespace hone
