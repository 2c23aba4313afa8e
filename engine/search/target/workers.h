// Threads that evaluate what a queue holds, and this machine's evaluator behind such a queue.
#pragma once

#include <thread>
#include <vector>

#include "engine/queue/in_process_queue.h"
#include "engine/queue/queue.h"
#include "engine/search/target/target.h"
#include "evaluator/evaluator.h"

namespace hone {

/// Evaluates until stopped or destroyed. An evaluation that fails for reasons of this machine is
/// tried once more.
class Workers {
 public:
  /// `queue` and `evaluator` must outlive the workers.
  Workers(WorkerQueue& queue, Evaluator& evaluator, int count);
  ~Workers() { stop(); }
  /// Closes the queue.
  void stop();

 private:
  WorkerQueue& queue_;
  std::vector<std::jthread> threads_;
};

/// Evaluates once, and once more when this machine was at fault.
[[nodiscard]] Result<Evaluation> evaluate_patiently(Evaluator& evaluator,
                                                    const EvaluationRequest& request);

/// An evaluator of this process as a target. Of several GPUs, too, it is one evaluator with one
/// queue: what is compiled and checked goes to the GPU that is free first.
class LocalTarget {
 public:
  /// `workers`: threads; 0: as many as the target's window. `evaluator` must outlive the target.
  LocalTarget(const DeviceSpec& device, Evaluator& evaluator, int workers = 0);
  [[nodiscard]] Target target();

 private:
  const DeviceSpec device_;
  Evaluator& evaluator_;
  const std::size_t window_;
  const std::size_t final_stages_;  ///< at once
  InProcessQueue queue_;
  Workers workers_;
};

}  // namespace hone
