// Threads that evaluate what a queue holds.
#pragma once

#include <thread>
#include <vector>

#include "engine/queue/queue.h"
#include "evaluator/evaluator.h"

namespace hone {

/// Evaluates until stopped or destroyed. An evaluation that fails for reasons of this machine is
/// tried once more.
class Workers {
 public:
  /// `queue` and `evaluator` must outlive the workers.
  Workers(Queue& queue, Evaluator& evaluator, int count);
  ~Workers() { stop(); }
  /// Closes the queue.
  void stop();

 private:
  Queue& queue_;
  std::vector<std::jthread> threads_;
};

/// Evaluates once, and once more when this machine was at fault.
[[nodiscard]] Result<Evaluation> evaluate_patiently(Evaluator& evaluator,
                                                    const EvaluationRequest& request);

}  // namespace hone
