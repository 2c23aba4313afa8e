#include "engine/search/target/target.h"

#include <chrono>

namespace hone {

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
