#include "engine/service/workers.h"

#include <chrono>
#include <exception>

namespace hone {
namespace {

/// What throws here (no memory left for a reply, say) costs one candidate and not the process.
Result<Evaluation> evaluate(Evaluator& evaluator, const EvaluationRequest& request) {
  try {
    return evaluator.evaluate(request);
  } catch (const std::exception& e) {
    return fail(ErrorCode::kInfrastructure, e.what());
  }
}

}  // namespace

Result<Evaluation> evaluate_patiently(Evaluator& evaluator, const EvaluationRequest& request) {
  auto evaluation = evaluate(evaluator, request);
  if (!evaluation && evaluation.error().code == ErrorCode::kInfrastructure) {
    evaluation = evaluate(evaluator, request);
  }
  return evaluation;
}

Workers::Workers(Queue& queue, Evaluator& evaluator, int count) : queue_(queue) {
  for (int i = 0; i < count; ++i) {
    threads_.emplace_back([this, &evaluator](const std::stop_token& stopping) {
      while (!stopping.stop_requested()) {
        auto work = queue_.take(std::chrono::milliseconds(100));
        if (work) queue_.complete({work->id, evaluate_patiently(evaluator, work->request)});
      }
    });
  }
}

void Workers::stop() {
  for (auto& thread : threads_) thread.request_stop();
  queue_.close();
  threads_.clear();
}

}  // namespace hone
