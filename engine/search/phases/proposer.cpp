#include "engine/search/phases/proposer.h"

#include <utility>

#include "candidates/stop_watch.h"

namespace hone {

Proposer::Proposer(Strategy& strategy, Space& space, int threads, std::function<void()> on_ready)
    : strategy_(strategy), space_(space), on_ready_(std::move(on_ready)) {
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stopping) { run(stopping); });
}

bool Proposer::ask() {
  if (threads_.empty() && pending_ > 0) return false;
  ++pending_;
  const std::lock_guard lock(mutex_);
  ++wanted_;
  asked_.notify_one();
  return true;
}

std::optional<Proposed> Proposer::take() {
  if (pending_ == 0) return std::nullopt;
  if (threads_.empty()) {
    --pending_;
    return propose();
  }
  const std::lock_guard lock(mutex_);
  if (ready_.empty()) return std::nullopt;
  --pending_;
  Proposed proposed = std::move(ready_.front());
  ready_.pop_front();
  return proposed;
}

void Proposer::stop() {
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
}

Proposed Proposer::propose() {
  double seconds = 0;
  Proposed proposed;
  {
    const StopWatch asking(seconds);
    try {
      proposed.order = next_order_++;
      proposed.recipe = strategy_.ask();
      proposed.rewritten = space_.rewritten(proposed.recipe);
    } catch (const std::exception& e) {  // no memory left, say
      proposed.rewritten = fail(ErrorCode::kInfrastructure, e.what());
    }
  }
  seconds_ += seconds;
  return proposed;
}

void Proposer::run(const std::stop_token& stopping) {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (!asked_.wait(lock, stopping, [&] { return wanted_ > 0; })) return;
      if (stopping.stop_requested()) return;
      --wanted_;
    }
    Proposed proposed = propose();
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::move(proposed));
    }
    on_ready_();
  }
}

}  // namespace hone
