#include "evaluator/evaluator_impl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <optional>
#include <thread>

#include "evaluator/calibrate/calibrate.h"
#include "evaluator/compile/compile.h"
#include "evaluator/compile/locate.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/device/emulator/profile_file.h"
#include "evaluator/divided_admission.h"
#include "evaluator/final_runners.h"
#include "evaluator/pool/gpu_set.h"
#include "evaluator/pool/placement.h"
#include "evaluator/timing/statistics.h"
#include "evaluator/trace.h"
#include "evaluator/verdicts.h"

namespace hone {
namespace {

using protocol::Case;
using protocol::EmulateReply;
using protocol::Runnable;
using Clock = std::chrono::steady_clock;

/// Cores that compile runners leave to a GPU's runner and to the search.
constexpr int kSparedForTheGpu = 2;
constexpr int kMostPerGpu = 16;      // compile runners, and emulator runners
constexpr int kMostFinalChecks = 8;  // emulator runners of one final stage
/// An admission on a GPU may look so long [s] for what the timed size reads.
constexpr double kSampledReads_s = 2;
/// An admission waits so long for it: what follows can go on without.
constexpr auto kReadsInAdmission = std::chrono::milliseconds(100);
constexpr double kOf95 = 1.96;          // standard deviations
constexpr double kMostOff = 0.9;        // of a modelled time, relative
constexpr double kLargestError = 1e30;  // stands for infinity, which JSON cannot hold

double bounded_error(double error) {
  return std::isfinite(error) ? std::min(error, kLargestError) : kLargestError;
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

/// Of what is read whole at the check sizes, what the timed size reads whole, too.
void keep_common(std::set<std::string>& read_whole, const std::set<std::string>& at_timed_size) {
  std::erase_if(read_whole, [&](const auto& name) { return !at_timed_size.contains(name); });
}

/// Its end is the end of what has its token.
struct StopsAtEnd {
  StopsAtEnd() = default;
  StopsAtEnd(const StopsAtEnd&) = delete;
  StopsAtEnd& operator=(const StopsAtEnd&) = delete;
  ~StopsAtEnd() { source.request_stop(); }

  std::stop_source source;
};

/// While a GPU's runner or the search waits for a core, a GPU idles: the others stand back.
EvaluatorOptions with_gpu(EvaluatorOptions options, bool gpu) {
  if (gpu) options.helper_niceness = 10;
  return options;
}

}  // namespace

bool beyond_the_emulator(const EmulateReply& reply) {
  return reply.verdict == Verdict::kUnsupported ||
         (reply.verdict == Verdict::kTimeout && reply.reference_failed);
}

int EvaluatorImpl::per_core(int wanted, int spared) const {
  if (wanted > 0) return wanted;
  const int gpus = gpu_ ? static_cast<int>(gpu_->size()) : 1;
  spared *= gpus;
  return std::clamp(cores_ > 4 * spared ? cores_ - spared : cores_, 1, kMostPerGpu * gpus);
}

int EvaluatorImpl::check_threads() const {
  return std::clamp(cores_ / per_core(options_.check_processes), 1, 16);
}

int EvaluatorImpl::final_check_processes() const {
  if (options_.final_check_processes > 0) return options_.final_check_processes;
  return gpu_ ? std::clamp(cores_ / 2, 1, kMostFinalChecks) : 1;
}

EvaluatorImpl::EvaluatorImpl(DeviceSpec device, const EvaluatorOptions& options, DeviceInfo info,
                             LaunchLimits limits, std::unique_ptr<GpuSet> gpu)
    : device_(std::move(device)),
      options_(with_gpu(options, gpu != nullptr)),
      toolchain_(compile::Nvrtc::get() ? compile::toolchain_identity(compile::Nvrtc::get()->path)
                                       : ""),
      profile_text_(options.profile ? emulator::to_text(*options.profile) : ""),
      info_(std::move(info)),
      limits_(limits),
      cache_(options.compile_cache),
      cores_(pool::count_cores(options_.placement)),
      gpu_(std::move(gpu)),
      compilers_("compile", per_core(options_.compile_processes, gpu_ ? kSparedForTheGpu : 0),
                 options_),
      emulators_("emulate", per_core(options_.check_processes), options_),
      final_checks_(std::max(final_check_processes(), per_core(0, gpu_ ? kSparedForTheGpu : 0))),
      finals_(gpu_ ? gpu_->size() : 1) {}

EvaluatorImpl::~EvaluatorImpl() = default;

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

bool EvaluatorImpl::is_cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_;
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
                                            pool::RunnerPool* own, double limit_s, pool::Turn turn,
                                            const std::stop_token& stopping) {
  if (limit_s <= 0) limit_s = options_.check_timeout_s;
  pool::RunnerPool& pool = own != nullptr ? *own : emulators_;
  return reply_of(pool.call(protocol::to_message(request), limit_s, turn, stopping), limit_s);
}

Result<EmulateReply> EvaluatorImpl::reply_of(const pool::Outcome& outcome, double limit_s) {
  EmulateReply reply;
  switch (outcome.status) {
    case pool::Outcome::Status::kReply:
      if (const auto error = protocol::error_of(outcome.reply))
        return infrastructure("the emulator's runner failed: " + *error);
      return protocol::emulate_reply_from(outcome.reply);
    case pool::Outcome::Status::kTimeout:
      reply.verdict = Verdict::kTimeout;
      reply.detail = fmt::format("the emulated check took more than {:.0f} s", limit_s);
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

std::optional<EmulateReply> EvaluatorImpl::known_model(const std::string& reference_key) {
  const std::lock_guard lock(mutex_);
  const auto known = reference_models_.find(reference_key);
  if (known == reference_models_.end()) return std::nullopt;
  return known->second;
}

EmulateReply EvaluatorImpl::keep_model(const std::string& reference_key,
                                       const EmulateReply& reply) {
  const std::lock_guard lock(mutex_);
  // The first one stands: every speedup of a run is against the same number.
  return reference_models_.emplace(reference_key, reply).first->second;
}

Result<EmulateReply> EvaluatorImpl::modelled_reference(const Case& timed,
                                                       const EvaluationRequest& evaluation,
                                                       pool::RunnerPool* own,
                                                       const std::stop_token& stopping) {
  const bool is_final = evaluation.stage == Stage::kFinal;
  const std::string key =
      timed.reference.key + (is_final ? fmt::format("/{}", evaluation.places) : "");
  if (const auto known = known_model(key)) return *known;
  protocol::EmulateRequest request;
  request.arch = info_.arch;
  request.profile = profile_text_;
  request.places = evaluation.places;
  request.is_final = is_final;
  request.timed = Case{.reference = timed.reference, .seed = timed.seed};
  const auto reply = emulate(request, own, 0, pool::kUsualTurn, stopping);
  if (!reply) return std::unexpected(reply.error());
  if (reply->verdict != Verdict::kOk) {
    if (const auto quick = known_model(timed.reference.key)) return *quick;
    return std::unexpected(reference_error(reply->verdict, reply->detail, device_));
  }
  return keep_model(key, *reply);
}

bool EvaluatorImpl::begin_screening(bool dear) {
  constexpr int kTried = 4;
  constexpr double kCores = 4;  // that model while one candidate is measured
  const std::lock_guard lock(mutex_);
  const bool known = screened_.count >= kTried && measured_.count > 0;
  const bool pays = known ? screened_.value() < kCores * measured_.value()
                          : dear || screened_.count + screening_ < kTried;
  if (pays) ++screening_;
  return pays;
}

void EvaluatorImpl::end_screening(double seconds) {
  const std::lock_guard lock(mutex_);
  --screening_;
  screened_.add(seconds);
}

void EvaluatorImpl::note_measured(double seconds) {
  const std::lock_guard lock(mutex_);
  measured_.add(seconds);
}

void EvaluatorImpl::set_modelled(Evaluation& evaluation, const EmulateReply& reply,
                                 const EmulateReply& reference, const EvaluationRequest& request,
                                 const std::string& reference_key) {
  auto& m = evaluation.measurement;
  const double reference_us = reference.time_us;
  m.modelled = true;
  m.time_us = reply.time_us;
  m.reference_time_us = reference_us;
  m.speedup = reply.time_us > 0 ? reference_us / reply.time_us : 0;
  // Of the sample of blocks; how far the model is off itself is another question.
  const double off = std::min(kMostOff, kOf95 * std::hypot(reply.time_error, reference.time_error));
  m.ci95_low = m.speedup * (1 - off);
  m.ci95_high = m.speedup * (1 + off);
  m.bound = reply.bound;
  m.samples_us = {reply.time_us};
  m.reference_samples_us = {reference_us};
  m.counters = reply.counters;
  set_roof(m, request, reference_key);
}

Roof EvaluatorImpl::roof(const EvaluationRequest& request, const std::string& reference_key,
                         double time_us) {
  const ConcreteProgram& reference = request.timed.reference;
  Roof roof = roof_of(reference, 0, request.math, info_);
  if (!settle_floor(reference_key, request.stage == Stage::kFinal)) {
    roof.time_us = 0;  // not known
    return roof;
  }
  {
    const std::lock_guard lock(mutex_);
    const auto known = floors_.find(reference_key);
    if (known != floors_.end()) roof.time_us = known->second.time_us;
  }
  roof.memory_bound = true;
  // A program beyond it needs fewer operations than the task says: then it is no bound.
  const double arithmetic = arithmetic_us(reference, request.flops, request.math, info_.ceilings);
  if (arithmetic > roof.time_us && arithmetic <= time_us) {
    roof.time_us = arithmetic;
    roof.memory_bound = false;
  }
  return roof;
}

void EvaluatorImpl::set_roof(Measurement& m, const EvaluationRequest& request,
                             const std::string& reference_key, double to_first) {
  const double time_us = to_first * m.time_us;
  const Roof over = roof(request, reference_key, time_us);
  m.roof_fraction = time_us > 0 ? over.time_us / time_us : 0;
  if (!m.modelled && over.time_us > 0) m.bound = over.memory_bound ? "dram" : "compute";
}

void EvaluatorImpl::set_measured(Evaluation& evaluation, const protocol::MeasureReply& reply,
                                 const EvaluationRequest& request, const std::string& reference_key,
                                 double to_first) {
  auto& m = evaluation.measurement;
  m.time_us = reply.time_us;
  m.reference_time_us = reply.reference_time_us;
  m.speedup = m.time_us > 0 ? m.reference_time_us / m.time_us : 0;
  m.ci95_low = reply.ci95_low;
  m.ci95_high = reply.ci95_high;
  m.samples_us = reply.samples_us;
  m.reference_samples_us = reply.reference_samples_us;
  m.warm_time_us = reply.warm_time_us;
  m.reference_warm_time_us = reply.reference_warm_time_us;
  m.outliers = reply.outliers;
  m.discarded = reply.discarded;
  m.clock_mhz = reply.clock_mhz;
  set_roof(m, request, reference_key, to_first);
}

std::string EvaluatorImpl::slow_runs_key(const std::string& reference_key,
                                         const EvaluationRequest& request) {
  return fmt::format("{} {} {} {}", reference_key, to_string(request.math), request.tolerance.rtol,
                     request.tolerance.atol);
}

std::set<std::string> EvaluatorImpl::sampled_reads(const Case& timed,
                                                   const std::string& slow_runs_key) {
  protocol::EmulateRequest request;
  request.arch = info_.arch;
  request.timed = Case{.reference = timed.reference, .seed = timed.seed};
  const auto reply = emulate(request, nullptr, kSampledReads_s);
  if (!reply || reply->verdict != Verdict::kOk) return {};
  slow_runs_.learn(slow_runs_key, timed.reference.key, reply->time_us, 0);
  return reply->read_whole;
}

void EvaluatorImpl::set_floor(const EvaluationRequest& request, const std::string& reference_key,
                              const std::set<std::string>& read_whole, double reference_us) {
  Floor floor = floor_of(request.timed.reference, read_whole, info_.ceilings);
  // Then it was wrong: the timed size is another case than the check sizes, say.
  if (reference_us < floor.time_us) floor = {};
  const std::lock_guard lock(mutex_);
  floors_[reference_key] = std::move(floor);
}

bool EvaluatorImpl::may_be_impossible(const std::string& reference_key, double time_us) {
  std::shared_ptr<const LateFloor> late;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = late_floors_.find(reference_key); found != late_floors_.end())
      late = found->second;
  }
  return late != nullptr &&
         is_impossible(time_us,
                       floor_of(late->request.timed.reference, late->read_whole, info_.ceilings),
                       info_.ceilings);
}

bool EvaluatorImpl::settle_floor(const std::string& reference_key, bool wait) {
  std::shared_ptr<const LateFloor> late;
  {
    const std::lock_guard lock(mutex_);
    const auto found = late_floors_.find(reference_key);
    if (found == late_floors_.end()) return true;
    late = found->second;
  }
  if (!wait && late->reads.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return false;
  std::set<std::string> read_whole = late->read_whole;
  keep_common(read_whole, late->reads.get());
  set_floor(late->request, reference_key, read_whole, late->reference_us);
  const std::lock_guard lock(mutex_);
  late_floors_.erase(reference_key);
  return true;
}

void EvaluatorImpl::raise_alarm(Evaluation& evaluation, const EvaluationRequest& request,
                                const std::string& reference_key, double to_first) {
  const double time_us = to_first * evaluation.measurement.time_us;
  settle_floor(reference_key,
               request.stage == Stage::kFinal || may_be_impossible(reference_key, time_us));
  Floor floor;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = floors_.find(reference_key); known != floors_.end())
      floor = known->second;
  }
  const auto& m = evaluation.measurement;
  if (evaluation.verdict != Verdict::kOk || !is_impossible(time_us, floor, info_.ceilings)) return;
  evaluation.verdict = Verdict::kTampering;
  evaluation.faster_than_roof = true;
  evaluation.detail = fmt::format("faster than the roof: {:.2f} us{}, but {}", time_us,
                                  m.modelled ? " (modelled)" : "", floor.why);
}

std::vector<GpuUse> EvaluatorImpl::gpus() { return gpu_ ? gpu_->uses() : std::vector<GpuUse>{}; }

Result<Ceilings> EvaluatorImpl::measure_ceilings() {
  if (!gpu_) return info_.ceilings;
  return calibrate::ceilings(device_.ordinal, options_);
}

Result<void> EvaluatorImpl::add_made_up(protocol::EmulateRequest& emulated,
                                        const EvaluationRequest& request) {
  const auto bytes = [](const CheckCase& check) {
    std::int64_t sum = 0;
    for (const auto& buffer : check.reference.buffers) sum += buffer.bytes();
    return sum;
  };
  const CheckCase* smallest = nullptr;
  for (const CheckCase& check : request.checks)
    if (!check.hidden && (smallest == nullptr || bytes(check) < bytes(*smallest)))
      smallest = &check;
  if (smallest == nullptr) return {};
  for (const InputSet set : input_sets_of(smallest->reference)) {
    if (set == InputSet::kOwn) continue;
    auto reference = prepare_reference(with_inputs(smallest->reference, set, smallest->seed));
    if (!reference) return std::unexpected(reference.error());
    emulated.checks.push_back({.reference = std::move(*reference),
                               .seed = smallest->seed,
                               .inputs = set,
                               .made_up = true});
  }
  return {};
}

GpuAdmission EvaluatorImpl::admit_on_gpu(const protocol::EmulateRequest& emulated,
                                         const Case& timed, const EvaluationRequest& request,
                                         const std::stop_token& stopping) {
  protocol::MeasureRequest measure;
  for (const Case& one : emulated.checks)
    if (!one.made_up) measure.checks.push_back(machine_code_only(one));
  measure.timed = machine_code_only(timed);
  measure.tolerance = request.tolerance;
  measure.bits = emulated.bits;
  measure.seed = request.seed;
  measure.timeout_s = options_.device_timeout_s;
  return gpu_->admit(measure, 60 + 4 * options_.device_timeout_s, stopping);
}

Result<Evaluation> EvaluatorImpl::admit(const EvaluationRequest& request) {
  const auto begin = Clock::now();
  trace("admission begins");
  if (auto ok = check_memory(request.timed.reference); !ok) return std::unexpected(ok.error());
  // Who gives up waiting for the admission learns how far it came.
  const auto at = [](const char* what, Clock::time_point since, Error error) {
    const double seconds = std::chrono::duration<double>(Clock::now() - since).count();
    if (error.code == ErrorCode::kInfrastructure)
      error.message += fmt::format(" after {:.1f} s of {}", seconds, what);
    return std::unexpected(std::move(error));
  };
  // A search waits for it.
  constexpr pool::Turn kAtOnce = 0;
  // All forms at once: what a search begins with takes the compilers soon.
  std::vector<std::future<Result<std::optional<Runnable>>>> in_double;
  for (const auto& check : request.checks) {
    if (check.hidden) continue;
    in_double.push_back(std::async(std::launch::async, [this, &check] {
      return prepare_precise(check.reference, {.code_for = CodeFor::kEmulator, .turn = kAtOnce});
    }));
  }
  const auto timed = prepare_reference(request.timed.reference, {.turn = kAtOnce});
  if (!timed) return at("compiling the reference", begin, timed.error());
  protocol::EmulateRequest emulated;
  emulated.arch = info_.arch;
  emulated.profile = profile_text_;
  emulated.tolerance = request.tolerance;
  emulated.threads = check_threads();
  if (request.math == MathLevel::kExact) emulated.bits = protocol::SameBits::kRequired;
  std::vector<CheckCase::Expected> expected;
  for (const auto& check : request.checks) {
    if (check.hidden) continue;  // nobody is blamed for sizes that the task does not list
    auto reference = prepare_reference(check.reference, {.turn = kAtOnce});
    if (!reference) return at("compiling the reference", begin, reference.error());
    auto precise = in_double[expected.size()].get();
    if (!precise) return at("compiling the reference", begin, precise.error());
    emulated.checks.push_back(
        {.reference = std::move(*reference), .precise = std::move(*precise), .seed = check.seed});
    expected.push_back(check.expected);
  }
  if (auto added = add_made_up(emulated, request); !added) return std::unexpected(added.error());
  const Case timed_case{.reference = *timed, .seed = request.timed.seed};

  Evaluation evaluation;
  evaluation.resources = resources_of(*timed);
  std::set<std::string> read_whole;
  std::vector<std::string> said;
  trace("admission: compiled");
  // What the timed size takes begins once every check size is ok in grid order, and goes on beside
  // what else is asked there: that decides first, and where it refuses, nobody waits for the rest.
  std::future<GpuAdmission> measured;
  std::future<Result<EmulateReply>> modelled;
  const StopsAtEnd timed_size;
  const auto begin_timed_size = [&] {
    const auto stopping = timed_size.source.get_token();
    if (gpu_)
      measured = std::async(std::launch::async, [&, stopping] {
        return admit_on_gpu(emulated, timed_case, request, stopping);
      });
    else
      modelled = std::async(std::launch::async, [&, stopping] {
        return modelled_reference(timed_case, request, nullptr, stopping);
      });
  };
  const auto emulation_begin = Clock::now();
  if (!emulated.checks.empty()) {
    DividedAdmission divided(*this, emulated, expected);
    auto reply = divided.run_sizes();
    if (reply && reply->verdict == Verdict::kOk) {
      begin_timed_size();
      reply = divided.run_rest();
    }
    if (!reply)
      return at("emulating the reference at the check sizes", emulation_begin, reply.error());
    const bool uncovered = gpu_ && beyond_the_emulator(*reply);
    if (reply->verdict != Verdict::kOk && !uncovered)
      return std::unexpected(reference_error(reply->verdict, reply->detail, device_));
    read_whole = std::move(reply->read_whole);
    said = std::move(reply->said);
    evaluation.reference_error = reply->reference_error;
    evaluation.expected_checked = reply->expected_checked;
    evaluation.expected_differs = std::move(reply->expected_differs);
  }
  trace("admission: emulated");
  if (!measured.valid() && !modelled.valid()) begin_timed_size();
  if (!gpu_) {
    const auto begin_wait = Clock::now();
    const auto reply = modelled.get();
    if (!reply)
      return at("modelling a block of the reference at the timed sizes", begin_wait, reply.error());
    keep_common(read_whole, reply->read_whole);
    set_floor(request, timed->key, read_whole, reply->time_us);
    set_modelled(evaluation, *reply, *reply, request, timed->key);
  } else {
    std::shared_future<std::set<std::string>> reads;  // while the GPU works
    if (!read_whole.empty())
      reads = std::async(std::launch::async,
                         [this, timed_case, key = slow_runs_key(timed->key, request)] {
                           return sampled_reads(timed_case, key);
                         });
    const GpuAdmission said_there = measured.get();
    gpu_->leave_out_unlike(said_there);
    const auto& reply = said_there.reply;
    if (!reply) return std::unexpected(reply.error());
    if (reply->verdict != Verdict::kOk)
      return std::unexpected(reference_error(reply->verdict, reply->detail, device_));
    said.insert(said.end(), reply->said.begin(), reply->said.end());
    auto& m = evaluation.measurement;
    m.time_us = m.reference_time_us = reply->time_us;
    m.speedup = m.ci95_low = m.ci95_high = 1;
    m.samples_us = m.reference_samples_us = reply->samples_us;
    slow_runs_.learn(slow_runs_key(timed->key, request), timed->key, 0, m.time_us);
    if (!reads.valid()) {
      set_floor(request, timed->key, read_whole, m.time_us);
    } else {
      const std::lock_guard lock(mutex_);
      late_floors_[timed->key] = std::make_shared<const LateFloor>(
          LateFloor{reads, request, std::move(read_whole), m.time_us});
    }
    if (reads.valid()) (void)reads.wait_for(kReadsInAdmission);
    set_roof(m, request, timed->key);
  }
  evaluation.verdict = Verdict::kOk;
  evaluation.math = MathLevel::kExact;  // it is the reference
  evaluation.note = fmt::format("{}", fmt::join(said, "\n"));
  evaluation.elapsed_s = std::chrono::duration<double>(Clock::now() - begin).count();
  trace("admission ends");
  return evaluation;
}

Result<Evaluation> EvaluatorImpl::evaluate(const EvaluationRequest& request) {
  const auto begin = Clock::now();
  // An emulated device runs no machine code: the final stage needs none at the check sizes either.
  const bool quick = request.stage == Stage::kQuick || !gpu_;
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

}  // namespace hone
