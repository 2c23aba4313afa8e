// The parent's side of one GPU: its measure runner, started, set up, watched and replaced.
// Thread-safe; one request at a time reaches the GPU.
#pragma once

#include <memory>
#include <mutex>
#include <stop_token>

#include "candidates/measurement.h"
#include "candidates/stop_watch.h"
#include "evaluator/pool/runner_pool.h"
#include "evaluator/pool/turns.h"
#include "evaluator/protocol/calibrate_messages.h"
#include "evaluator/protocol/measure_messages.h"

namespace hone {

class GpuClient {
 public:
  /// Starts the runner, opens the GPU and compiles the helper kernels for it with `compilers`.
  /// `mode`: "measure", or "library" for one that may call cuBLAS. Errors: kEnvironment (no driver,
  /// no such GPU, no NVRTC).
  [[nodiscard]] static Result<std::unique_ptr<GpuClient>> open(int ordinal,
                                                               const EvaluatorOptions& options,
                                                               const std::string& mode = "measure");

  [[nodiscard]] const protocol::DeviceFacts& facts() const { return facts_; }

  /// `fresh`: in a process that has served nobody. `deadline_s`: the watchdog; a runner that has
  /// not answered by then is killed (Verdict::kTimeout). A runner that dies is kCrash. `gates`: how
  /// long it waited and measured is added to it. `stopping`: then its runner is killed, and it ends
  /// with an Error. Errors: kInfrastructure.
  [[nodiscard]] Result<protocol::MeasureReply> measure(const protocol::MeasureRequest& request,
                                                       bool fresh, double deadline_s,
                                                       GateSeconds* gates = nullptr,
                                                       const std::stop_token& stopping = {});
  /// The same of a request as it travels.
  [[nodiscard]] Result<protocol::MeasureReply> measure(const protocol::Frame& message, bool fresh,
                                                       double deadline_s, GateSeconds* gates,
                                                       const std::stop_token& stopping = {});
  /// Puts a new runner in the place of the one that is there, so that who wants a fresh one, which
  /// sees the files that there are now, need not wait for it. Waits for its turn.
  void freshen();
  /// Replaces the runner by a new one: does the GPU still answer? Errors: kInfrastructure.
  [[nodiscard]] Result<void> restart();

  /// Of a client of the mode "library": opens cuBLAS and says which it is. Errors: kEnvironment.
  [[nodiscard]] Result<std::string> open_library();

  // For `hone calibrate`. A runner that dies, lies or takes too long is an Error and is not
  // replaced. Errors: kEnvironment, kInfrastructure.
  [[nodiscard]] Result<protocol::BenchDevice> bench_load(const std::string& cubin,
                                                         std::int64_t buffer_bytes);
  [[nodiscard]] Result<protocol::BenchReply> bench(const protocol::BenchRequest& request);

  void cancel();
  void resume();

 private:
  GpuClient(int ordinal, const EvaluatorOptions& options, std::string mode)
      : ordinal_(ordinal), options_(options), mode_(std::move(mode)) {}
  [[nodiscard]] Result<void> start();  ///< a runner that is set up
  void stop();
  [[nodiscard]] Result<nlohmann::json> call(
      const nlohmann::json& message);  ///< that is no measurement

  const int ordinal_;
  const EvaluatorOptions options_;
  const std::string mode_;
  protocol::DeviceFacts facts_;
  std::string helpers_;  ///< cubin

  InOrder turns_;     ///< one request at a time
  std::mutex mutex_;  ///< of what follows
  std::unique_ptr<pool::RunnerProcess> runner_;
  bool served_ = false;  ///< that runner, somebody
  bool cancelled_ = false;
};

}  // namespace hone
