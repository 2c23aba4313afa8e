// The evaluator's front door: compile, check and time candidates in child processes.
// The engine owns one Evaluator per device, or for several GPUs of one model, and may call it from
// several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "candidates/ceilings.h"
#include "candidates/measurement.h"
#include "candidates/program.h"
#include "candidates/task.h"
#include "evaluator/device_spec.h"
#include "evaluator/fill/input_sets.h"
#include "sandbox/policy.h"

namespace hone {

namespace emulator {
struct ProfileFile;
}

/// The cores that children run on: the runner of a GPU on the GPU's own, every other child on those
/// of one of the GPUs, in turn. evaluator/pool/placement.h has the rule.
struct Placement {
  std::map<int, std::vector<int>> by_gpu;  ///< by ordinal; empty: any core
};

struct EvaluatorOptions {
  int compile_processes = 0;  ///< 0: one per core, at most 16
  int check_processes = 0;    ///< emulator runners; 0: one per core, at most 16
  /// Emulator runners of one final stage, among which its checks are divided; what comes of them
  /// does not depend on it. 0: on a GPU half as many as cores, at most 8; else 1.
  int final_check_processes = 0;
  int helper_niceness = 5;    ///< of compile and check runners; with a GPU 10
  std::string runner_path;    ///< hone-runner; empty: beside this executable
  std::string compile_cache;  ///< folder of compiled programs; empty: none is kept
  /// Files that buffers are filled from: what runs kernels may read them, what compiles may not.
  std::vector<std::string> input_files;
  double compile_timeout_s = 30;
  double check_timeout_s = 60;   // one candidate's emulated checks
  double device_timeout_s = 20;  // one candidate's run on the GPU beyond what the reference takes
  double final_timing_s = 1.2;   // for the timed pairs of one finalist; the fewest take longer
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
  /// Takes a line about what the sandbox lacks here, once per process; null: nobody is told.
  std::function<void(const std::string&)> warn;
  /// False: no line about layers that this machine does not grant, only one where the sandbox is
  /// off.
  bool tell_missing_layers = true;
  /// Of an emulated device; null: the built-in one that its DeviceSpec names.
  std::shared_ptr<const emulator::ProfileFile> profile;
  Placement placement;         ///< of the children; empty: any core
  std::string sysfs = "/sys";  ///< where the system describes its devices, for placement_of()
};

/// For EvaluatorOptions: $XDG_CACHE_HOME/hone/compile, or ~/.cache/hone/compile.
[[nodiscard]] std::string default_compile_cache();

/// What the evaluator knows about its device, for provenance and for the roof.
struct DeviceInfo {
  std::string name;       ///< "NVIDIA H200", "emulated sm_90 (H200 profile)"
  std::string arch;       ///< "sm_90"
  std::string driver;     ///< "" on the emulator
  std::string toolchain;  ///< "NVRTC 13.0"
  int sm_count = 0;
  std::int64_t memory_bytes = 0;  // [B]
  Ceilings ceilings;
  std::string sandbox;  ///< how its children are confined: "strict", "best-effort", "off"
};

/// What one of an evaluator's GPUs has done.
struct GpuUse {
  int ordinal = 0;
  std::int64_t measured = 0;  ///< requests
  double busy_s = 0;          // with one
  std::string lost;           ///< why it is left out by now; empty: it works
};

/// One size at which a candidate is compared with the reference.
struct CheckCase {
  ConcreteProgram reference;
  ConcreteProgram candidate;
  std::uint64_t seed = 0;            ///< of the fills
  InputSet inputs = InputSet::kOwn;  ///< other than the task's own: may turn out unusable
  /// A size that the task does not list: a reference that fails there is not blamed.
  bool hidden = false;
  bool in_part =
      false;  ///< too large to emulate in full: compared at some places, on a GPU in full
  /// Of an admission: gives what buffers hold after the reference, found in another way (its lift);
  /// empty where that is not known. Compared with the emulated reference; decides nothing. It is
  /// called once, from another thread, and may block: the admission does the rest meanwhile. Null:
  /// there is nothing to compare with. Stays in this process and its runners.
  using Buffers = std::map<std::string, std::string>;  ///< bytes by name
  using Expected = std::function<Buffers()>;
  Expected expected = nullptr;
};

enum class Stage {
  kQuick,  ///< check, then a short timing that stops early when clearly slower than `best_time_us`
  kFinal,  ///< fresh process, new inputs, interleaved with the reference, confidence interval
};

/// Times of the quick stage [us], by Evaluation::timing_key.
using KnownTimes = std::unordered_map<std::string, double>;

struct EvaluationRequest {
  /// Small sizes: emulated in full; on a GPU run there as well, in the final stage.
  std::vector<CheckCase> checks;
  CheckCase timed;  ///< the timed sizes; on a GPU checked there too
  Tolerance tolerance;
  MathLevel math = MathLevel::kReassociate;  ///< what the task allows; exact: the same bits
  /// What the candidate's steps need: its answers are held to this level, and Evaluation::math says
  /// whether they keep it. Of a program that nobody vouches for, the task's.
  MathLevel claims = MathLevel::kReassociate;
  /// hone's own rules made the candidate. Only then may it be believed on an emulated device where
  /// it cannot be compared at the timed size; its note says so.
  bool by_rules = false;
  /// What the candidate may take at a check size where the reference says nothing of it [emulated
  /// warp instructions].
  std::uint64_t allowance = 0;
  Stage stage = Stage::kQuick;
  double best_time_us = 0;  ///< 0: none yet
  /// On a real GPU: of the requests that wait for it, the one of the lowest order has every second
  /// turn, but for long runs (GpuLine). It does not travel to other machines.
  std::uint64_t order = 0;
  /// On a real GPU that others wait for: model the candidate first, and measure it only when the
  /// model's time [us] is not above this. 0: measure without asking; infinity: ask always, and
  /// measure whatever it says. But what would hold the GPU for long (SlowRuns), and be far slower
  /// than the fastest program of this reference, is left out with any number but 0.
  double screen_above_us = 0;
  /// On a real GPU: measure before anything is checked at the check sizes, and check there only
  /// what is not much slower than `best_time_us`. For programs that hone's own rules made, which
  /// are nearly always right: the processor is what a search waits for.
  bool measure_first = false;
  /// Of the quick stage: a candidate whose timing_key is in it is checked, but not timed. Null:
  /// each one is timed. It does not travel to other machines.
  std::shared_ptr<const KnownTimes> known_times;
  double flops = 0;        // of the task at the timed sizes, 0 unknown
  std::uint64_t seed = 0;  ///< of whatever else is random (interleaving order, ...)
  /// On an emulated device: chooses the blocks that the time model samples and, in the final stage,
  /// where outputs at the timed size are compared. One for all candidates of a stage; who writes
  /// them must not know it.
  std::uint64_t places = 0;
};

/// "cuda:all" as the list of all GPUs that there are; any other device as it is. Errors:
/// kEnvironment: there is no GPU, or not one of a list's.
[[nodiscard]] Result<DeviceSpec> with_gpus_named(const DeviceSpec& device,
                                                 const EvaluatorOptions& options);

/// For the children of a search on several GPUs. Empty for any other device, and on a machine with
/// one memory node.
[[nodiscard]] Placement placement_of(const DeviceSpec& device, const EvaluatorOptions& options);

class Evaluator {
 public:
  /// Errors: kEnvironment (no driver, no NVRTC, no such device: says what to install); those of
  /// with_gpus_named(); kInvalidInput for GPUs of different models.
  [[nodiscard]] static Result<std::unique_ptr<Evaluator>> open(
      const DeviceSpec& device, const EvaluatorOptions& options = {});
  virtual ~Evaluator() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;

  /// Task admission: compiles the reference, runs it several times at each check size and at the
  /// timed size, and reports kTaskFailed with the place and the reason (compile error with its log,
  /// fault, hang, writes nothing, different answers), or kInvalidInput (too large for memory).
  /// `evaluation.measurement.time_us` is the reference's own time.
  [[nodiscard]] virtual Result<Evaluation> admit(const EvaluationRequest& reference) = 0;

  /// Every gate in order, cheapest first; blocks. Never throws; an Error is kInfrastructure only.
  [[nodiscard]] virtual Result<Evaluation> evaluate(const EvaluationRequest& request) = 0;
  /// Compiles what evaluate() will need of a request of the quick stage; blocks, at most for the
  /// program that it is about when it is told to stop. Nothing is reported: evaluate() meets the
  /// same errors.
  virtual void compile_ahead(const EvaluationRequest& /*request*/, std::stop_token /*stopping*/) {}

  /// Measures what the device reaches at most: seconds on a GPU, which must be idle; an emulated
  /// one knows. Changes nothing here.
  [[nodiscard]] virtual Result<Ceilings> measure_ceilings() = 0;
  /// Takes better ceilings than those known at the start. Not while it evaluates.
  virtual void use_ceilings(const Ceilings& ceilings) = 0;

  /// Of a real device: its GPUs, on which different evaluations are measured at once. Thread-safe.
  [[nodiscard]] virtual std::vector<GpuUse> gpus() { return {}; }

  /// Makes evaluations in flight return soon (Ctrl-C). Thread-safe.
  virtual void cancel() = 0;
  /// Takes evaluations again after a cancel(), once those in flight have returned.
  virtual void resume() = 0;
};

/// The least time of a program for the task that uses the device in full: from bytes that must move
/// (each in/inout buffer read once, each out/inout written once) and FLOPs in the arithmetic that
/// `math` allows. Source: the roofline model.
struct Roof {
  double time_us = 0;
  double bytes = 0;  // [B]
  double flops = 0;
  bool memory_bound = true;
};
[[nodiscard]] Roof roof_of(const ConcreteProgram& reference, double flops, MathLevel math,
                           const DeviceInfo& device);

/// What is installed and what is missing, for `hone doctor`.
struct DoctorItem {
  std::string name;  ///< "NVIDIA driver", "NVRTC", "GPU 0", "hone-runner", ...
  bool present = false;
  std::string detail;     ///< version and path, or what to install
  bool required = false;  ///< without it nothing works, not even emu:
};
[[nodiscard]] std::vector<DoctorItem> diagnose(const EvaluatorOptions& options = {});

}  // namespace hone
