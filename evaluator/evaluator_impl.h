// Every gate in order. What differs between the emulated and the real GPU is the last gate only.
#pragma once

#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "evaluator/device/arguments.h"
#include "evaluator/evaluator.h"
#include "evaluator/outpacing.h"
#include "evaluator/pool/compile_cache.h"
#include "evaluator/pool/runner_pool.h"
#include "evaluator/pool/turns.h"
#include "evaluator/protocol/measure_messages.h"
#include "evaluator/protocol/messages.h"
#include "evaluator/roofline/floor.h"
#include "evaluator/sanitize_types.h"
#include "evaluator/slow_runs.h"
#include "evaluator/survey.h"

namespace hone {

/// The real GPUs, behind their measure runners. Null on the emulator.
class GpuSet;
struct GpuAdmission;

/// The emulator could not judge: an instruction it lacks, or a reference too long for it. On a real
/// GPU the device's own check follows.
[[nodiscard]] bool beyond_the_emulator(const protocol::EmulateReply& reply);

/// Without what a GPU does not read: PTX is the larger part of a message.
[[nodiscard]] protocol::Case machine_code_only(protocol::Case one);

/// How to compile.
struct Effort {
  CodeFor code_for = CodeFor::kTiming;
  pool::RunnerPool* own = nullptr;  ///< null: the shared compile runners and the cache
  std::uint64_t serial = 0;         ///< of `own`: nobody else believes what it said
  pool::Turn turn = pool::kUsualTurn;
};

class EvaluatorImpl final : public Evaluator {
 public:
  EvaluatorImpl(DeviceSpec device, const EvaluatorOptions& options, DeviceInfo info,
                LaunchLimits limits, std::unique_ptr<GpuSet> gpu);
  ~EvaluatorImpl() override;

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] Result<Evaluation> admit(const EvaluationRequest& request) override;
  [[nodiscard]] Result<Evaluation> evaluate(const EvaluationRequest& request) override;
  void compile_ahead(const EvaluationRequest& request, std::stop_token stopping) override;
  [[nodiscard]] Result<std::vector<Survey>> survey(const std::vector<ConcreteProgram>& programs,
                                                   const std::stop_token& stopping);
  [[nodiscard]] Result<Ceilings> measure_ceilings() override;
  void use_ceilings(const Ceilings& ceilings) override { info_.ceilings = ceilings; }
  [[nodiscard]] Result<SanitizeResult> sanitize(const SanitizeRequest& request);
  [[nodiscard]] std::vector<GpuUse> gpus() override;
  void cancel() override;
  [[nodiscard]] bool is_cancelled();
  void resume() override;

 private:
  using SharedProgram = std::shared_ptr<const CompiledProgram>;

  struct FinalRunners;

  /// Either a compiled program or, as a value, a verdict of kTimeout or kCrash.
  [[nodiscard]] Result<SharedProgram> compile(const ConcreteProgram& program, Effort effort);
  /// What is not in a cache; errors: kInfrastructure.
  [[nodiscard]] Result<CompiledProgram> compile_now(const CompileJob& job, Effort effort);
  /// Compiled before in this process; waits for somebody who is about it. Null: the caller is to
  /// compile it, and to say compiled_for() then.
  [[nodiscard]] SharedProgram compiled_before(const std::string& key);
  /// Null: it may turn out otherwise when it is tried again.
  void compiled_for(const std::string& key, const SharedProgram& program);
  /// `limit_s`: 0: as long as checks may take.
  [[nodiscard]] Result<protocol::EmulateReply> emulate(const protocol::EmulateRequest& request,
                                                       pool::RunnerPool* own = nullptr,
                                                       double limit_s = 0,
                                                       pool::Turn turn = pool::kUsualTurn,
                                                       const std::stop_token& stopping = {});
  /// What an emulator runner said. `limit_s`: how long it is said to have had.
  [[nodiscard]] static Result<protocol::EmulateReply> reply_of(const pool::Outcome& outcome,
                                                               double limit_s);
  /// The same as emulate(), of a final stage: its checks are divided among the stage's runners.
  class DividedChecks;
  [[nodiscard]] Result<protocol::EmulateReply> emulate_divided(
      const protocol::EmulateRequest& request, FinalRunners& own);
  [[nodiscard]] int final_check_processes() const;
  /// Likewise, of an admission: among all emulator runners.
  class DividedAdmission;
  [[nodiscard]] Result<protocol::Runnable> prepare_reference(const ConcreteProgram& program,
                                                             Effort effort = {});
  /// The reference in double, for a check; empty where there is none.
  [[nodiscard]] Result<std::optional<protocol::Runnable>> prepare_precise(
      const ConcreteProgram& reference, Effort effort = {});
  /// The candidate ready to run, or the verdict that stops it. `timed`: the same candidate at the
  /// timed size, whose code serves again where the text is the same; may be null.
  [[nodiscard]] Result<std::pair<Evaluation, protocol::Runnable>> prepare_candidate(
      const ConcreteProgram& reference, const ConcreteProgram& candidate, Effort effort,
      const protocol::Runnable* timed);
  /// Of an admission: the reference at the smallest check size, on every other set of inputs.
  [[nodiscard]] Result<void> add_made_up(protocol::EmulateRequest& emulated,
                                         const EvaluationRequest& request);
  /// Likewise: the reference at the check sizes and the timed one on every GPU.
  [[nodiscard]] GpuAdmission admit_on_gpu(const protocol::EmulateRequest& emulated,
                                          const protocol::Case& timed,
                                          const EvaluationRequest& request,
                                          const std::stop_token& stopping);
  class Gates;
  [[nodiscard]] Result<Evaluation> run_gates(const EvaluationRequest& request, bool quick);
  /// The reference's modelled time. That of a final stage is sampled as its finalists are; `own`:
  /// processes of that stage.
  [[nodiscard]] Result<protocol::EmulateReply> modelled_reference(
      const protocol::Case& timed, const EvaluationRequest& evaluation,
      pool::RunnerPool* own = nullptr, const std::stop_token& stopping = {});
  /// What the time model said of this reference before.
  [[nodiscard]] std::optional<protocol::EmulateReply> known_model(const std::string& reference_key);
  /// Gives the one that counts.
  protocol::EmulateReply keep_model(const std::string& reference_key,
                                    const protocol::EmulateReply& reply);
  [[nodiscard]] std::vector<KernelResources> resources_of(const protocol::Runnable& runnable) const;
  [[nodiscard]] Result<void> check_memory(const ConcreteProgram& reference) const;
  /// On a GPU: the inputs that the reference reads whole at the timed size, by the blocks that the
  /// emulator can run of it in a short time; empty where that says nothing.
  [[nodiscard]] std::set<std::string> sampled_reads(const protocol::Case& timed,
                                                    const std::string& slow_runs_key);
  /// What no program for this task can be faster than. Known once it was admitted.
  void set_floor(const EvaluationRequest& request, const std::string& reference_key,
                 const std::set<std::string>& read_whole, double reference_us);
  /// The same where sampled_reads() was still at work when the admission ended: once that has an
  /// answer, or after waiting for it. False: there is none yet.
  bool settle_floor(const std::string& reference_key, bool wait);
  /// Is this time too short, if all that may be read whole is?
  [[nodiscard]] bool may_be_impossible(const std::string& reference_key, double time_us);
  /// Turns a time that nothing honest explains into a verdict. `to_first`: times a time of the
  /// evaluation: on the first GPU, whose ceilings are known.
  void raise_alarm(Evaluation& evaluation, const EvaluationRequest& request,
                   const std::string& reference_key, double to_first = 1);
  void set_modelled(Evaluation& evaluation, const protocol::EmulateReply& reply,
                    const protocol::EmulateReply& reference, const EvaluationRequest& request,
                    const std::string& reference_key);

  void set_measured(Evaluation& evaluation, const protocol::MeasureReply& reply,
                    const EvaluationRequest& request, const std::string& reference_key,
                    double to_first = 1);
  /// Over a program that takes so long: the floor, or the arithmetic, where that is not beaten.
  [[nodiscard]] Roof roof(const EvaluationRequest& request, const std::string& reference_key,
                          double time_us);
  void set_roof(Measurement& measurement, const EvaluationRequest& request,
                const std::string& reference_key, double to_first = 1);

  /// Whose times compare with a candidate's: programs of one reference that may do the same.
  [[nodiscard]] static std::string slow_runs_key(const std::string& reference_key,
                                                 const EvaluationRequest& request);
  /// False where asking the time model takes more than measuring, as it went until now. Otherwise
  /// end_screening() follows, with what it took.
  /// `dear`: what is modelled holds the GPU for long, so that more at once are tried.
  [[nodiscard]] bool begin_screening(bool dear);
  void end_screening(double seconds);
  void note_measured(double seconds);

  /// Processes or threads: 0: one per core, at most 16 for each GPU, `spared` for each GPU fewer
  /// where there are cores enough.
  [[nodiscard]] int per_core(int wanted, int spared = 0) const;
  /// Of one emulator runner: as many as leave every runner its own cores.
  [[nodiscard]] int check_threads() const;

  const DeviceSpec device_;
  const EvaluatorOptions options_;
  const std::string toolchain_;     ///< all that compiles, for the cache on disk
  const std::string profile_text_;  ///< of the emulated device: JSON; empty with a GPU
  DeviceInfo info_;
  const LaunchLimits limits_;
  pool::CompileCache cache_;
  const int cores_;  ///< that its processes may run on
  std::unique_ptr<GpuSet> gpu_;
  pool::RunnerPool compilers_;
  pool::RunnerPool emulators_;
  Seats final_checks_;  ///< that run at once, of all final stages: those of the first go first
  SlowRuns slow_runs_;
  Outpacing outpacing_;
  InOrder finals_;  ///< the best finalists that are ready are timed first, one a GPU

  std::mutex mutex_;  ///< of what follows
  std::set<FinalRunners*> final_runners_;
  bool cancelled_ = false;
  std::list<std::pair<std::string, SharedProgram>> compiled_;  ///< oldest first
  std::set<std::string> compiling_;                            ///< keys
  std::condition_variable compiled_one_;
  /// Modelled, by runnable key: what the time model said of references.
  std::map<std::string, protocol::EmulateReply> reference_models_;
  std::map<std::string, Floor> floors_;  ///< likewise
  struct Mean {
    double seconds = 0;
    int count = 0;
    void add(double s) { seconds += s, ++count; }
    [[nodiscard]] double value() const { return count > 0 ? seconds / count : 0; }
  };
  Mean screened_, measured_;  ///< of the quick stage
  int screening_ = 0;         ///< now
  /// What set_floor() is given once it is known which inputs are read whole.
  struct LateFloor {
    std::shared_future<std::set<std::string>> reads;
    EvaluationRequest request;
    std::set<std::string> read_whole;
    double reference_us = 0;
  };
  std::map<std::string, std::shared_ptr<const LateFloor>> late_floors_;  ///< likewise
};

}  // namespace hone
