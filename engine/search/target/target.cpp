#include "engine/search/target/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace hone {

std::size_t gpus_of(const Target& target) {
  std::size_t gpus = 0;
  if (target.workers)
    for (const TargetWorker& worker : target.workers()) gpus += worker.there ? worker.devices : 0;
  if (target.gpus) gpus = target.gpus().size();
  return std::max<std::size_t>(1, gpus);
}

std::string all_gpus_lost(const Target& target) {
  const auto gpus = target.gpus ? target.gpus() : std::vector<GpuUse>{};
  std::string why;
  for (const GpuUse& gpu : gpus) {
    if (gpu.lost.empty()) return "";
    why += fmt::format("{}cuda:{}: {}", why.empty() ? "" : "; ", gpu.ordinal, gpu.lost);
  }
  return why;
}

Result<Evaluation> evaluate_and_wait(SearchQueue& queue, Work work,
                                     const std::function<bool()>& give_up) {
  const std::uint64_t id = work.id;
  if (!queue.submit(std::move(work)))
    return fail(ErrorCode::kInfrastructure, "the queue takes no work");
  while (true) {
    auto done = queue.next_result(std::chrono::milliseconds(50));
    if (done && done->id == id) return std::move(done->evaluation);
    if (done || !give_up || !give_up()) continue;
    queue.cancel();
    Error error{ErrorCode::kInfrastructure, "interrupted"};
    while (auto last = queue.next_result(std::chrono::milliseconds(0)))
      if (last->id == id && !last->evaluation) error.message = last->evaluation.error().message;
    queue.resume();
    return std::unexpected(std::move(error));
  }
}

}  // namespace hone
