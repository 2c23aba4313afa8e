#include "engine/search/target/workers.h"

#include <algorithm>
#include <chrono>
#include <exception>

namespace hone {
namespace {

constexpr std::size_t kLargestWorkerWindow = 96;  // for each GPU
constexpr std::size_t kLeastForAGpu = 12;
/// Final stages at once. A GPU times one at a time; the others are compiled and emulated meanwhile.
constexpr std::size_t kModelledFinals = 4, kFinals = 3;

/// A GPU's times differ from run to run, so nothing is lost there by telling outcomes as they come,
/// and one slow compilation holds up nobody. The pools of processes bound what runs at once; the
/// window bounds what is ready and waits for the GPU. Wide, for a candidate that holds the GPU for
/// a second must not bring the compile runners to a halt.
std::size_t window_of(const DeviceSpec& device, std::size_t gpus) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return device.modelled() ? kModelledWindow
                           : std::clamp(5 * cores, std::max(kModelledWindow, kLeastForAGpu * gpus),
                                        kLargestWorkerWindow * gpus);
}

std::size_t count_gpus(Evaluator& evaluator) {
  return std::max<std::size_t>(1, evaluator.gpus().size());
}

/// What throws here (no memory left for a reply, say) costs one candidate and not the process.
template <class Function>
Result<Evaluation> guarded(const Function& function) {
  try {
    return function();
  } catch (const std::exception& e) {
    return fail(ErrorCode::kInfrastructure, e.what());
  }
}

Result<Evaluation> evaluate(Evaluator& evaluator, const EvaluationRequest& request) {
  return guarded([&] { return evaluator.evaluate(request); });
}

Result<Evaluation> admit(Evaluator& evaluator, const EvaluationRequest& request) {
  return guarded([&] { return evaluator.admit(request); });
}

}  // namespace

Result<Evaluation> evaluate_patiently(Evaluator& evaluator, const EvaluationRequest& request) {
  auto evaluation = evaluate(evaluator, request);
  if (!evaluation && evaluation.error().code == ErrorCode::kInfrastructure) {
    evaluation = evaluate(evaluator, request);
  }
  return evaluation;
}

Workers::Workers(WorkerQueue& queue, Evaluator& evaluator, int count) : queue_(queue) {
  for (int i = 0; i < count; ++i) {
    threads_.emplace_back([this, &evaluator](const std::stop_token& stopping) {
      while (!stopping.stop_requested()) {
        auto work = queue_.take(std::chrono::milliseconds(100));
        if (!work) continue;
        queue_.complete({work->id, work->kind == Work::Kind::kAdmit
                                       ? admit(evaluator, work->request)
                                       : evaluate_patiently(evaluator, work->request)});
      }
    });
  }
}

void Workers::stop() {
  for (auto& thread : threads_) thread.request_stop();
  queue_.close();
  threads_.clear();
}

LocalTarget::LocalTarget(const DeviceSpec& device, Evaluator& evaluator, int workers)
    : device_(device),
      evaluator_(evaluator),
      window_(window_of(device, count_gpus(evaluator))),
      final_stages_(std::clamp<std::size_t>(
          std::thread::hardware_concurrency(), 1,
          device.modelled() ? kModelledFinals : kFinals + count_gpus(evaluator) - 1)),
      queue_(
          window_, [&evaluator] { evaluator.cancel(); }, [&evaluator] { evaluator.resume(); }),
      workers_(queue_, evaluator, workers > 0 ? workers : static_cast<int>(window_)) {}

Target LocalTarget::target() {
  Target target{device_, evaluator_.info(), window_, queue_, final_stages_};
  if (!device_.modelled()) {
    target.gpus = [this] { return evaluator_.gpus(); };
    target.compile_ahead = [this](const EvaluationRequest& request,
                                  const std::stop_token& stopping) {
      evaluator_.compile_ahead(request, stopping);
    };
  }
  return target;
}

}  // namespace hone
