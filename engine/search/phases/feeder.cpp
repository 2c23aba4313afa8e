#include "engine/search/phases/feeder.h"

#include <exception>
#include <utility>

namespace hone {
Feeder::Feeder(const RequestBuilder& builder, SearchQueue& queue, int threads)
    : builder_(builder), queue_(queue) {
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stopping) { run(stopping); });
}

void Feeder::add(Draft draft) {
  const std::lock_guard lock(mutex_);
  drafts_.push_back(std::move(draft));
  ready_.notify_one();
}

void Feeder::stop() {
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
}

void Feeder::run(const std::stop_token& stopping) {
  while (true) {
    Draft draft;
    {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, stopping, [&] { return !drafts_.empty(); });
      if (stopping.stop_requested()) return;
      draft = std::move(drafts_.front());
      drafts_.pop_front();
    }
    Result<EvaluationRequest> request = fail(ErrorCode::kInfrastructure, "no memory left");
    try {
      request = builder_.for_rewritten(draft.program, draft.recipe, draft.seed);
    } catch (const std::exception& e) {
      request = fail(ErrorCode::kInfrastructure, e.what());
    }
    if (request && draft.edits_as_timed && !builder_.checks_edits_as_timed(draft.recipe)) {
      request = refused(
          "the edits give another source at the timed size than at every check size, so what is "
          "timed would not have been checked: edit a program without sizes in its source, or "
          "write a whole one");
    }
    if (!request) {
      queue_.post({draft.id, std::unexpected(request.error())});
      continue;
    }
    request->order = draft.order;
    request->best_time_us = draft.best_time_us;
    request->screen_above_us = draft.screen_above_us;
    request->measure_first = draft.measure_first;
    request->known_times = std::move(draft.known_times);
    if (!queue_.submit({draft.id, std::move(*request)})) return;
  }
}

}  // namespace hone
