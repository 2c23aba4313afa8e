#include "engine/queue/in_process_queue.h"

namespace hone {

bool InProcessQueue::submit(Work work) {
  std::unique_lock lock(mutex_);
  space_ready_.wait(lock, [&] { return closed_ || cancelled_ || work_.size() < capacity_; });
  if (closed_ || cancelled_) return false;
  work_.push_back(std::move(work));
  work_ready_.notify_one();
  return true;
}

std::optional<Done> InProcessQueue::next_result(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  result_ready_.wait_for(lock, timeout, [&] { return closed_ || woken_ || !results_.empty(); });
  woken_ = false;
  if (results_.empty()) return std::nullopt;
  Done done = std::move(results_.front());
  results_.pop_front();
  return done;
}

void InProcessQueue::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  result_ready_.notify_one();
}

void InProcessQueue::post(Done done) {
  const std::lock_guard lock(mutex_);
  results_.push_back(std::move(done));
  result_ready_.notify_one();
}

void InProcessQueue::cancel() {
  std::unique_lock lock(mutex_);
  cancelled_ = true;
  work_.clear();
  space_ready_.notify_all();
  lock.unlock();
  if (hurry_) hurry_();
  lock.lock();
  all_returned_.wait(lock, [&] { return closed_ || in_progress_ == 0; });
  lock.unlock();
  if (recover_) recover_();
}

void InProcessQueue::resume() {
  const std::lock_guard lock(mutex_);
  cancelled_ = false;
}

std::optional<Work> InProcessQueue::take(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  work_ready_.wait_for(lock, timeout, [&] { return closed_ || !work_.empty(); });
  if (closed_ || work_.empty()) return std::nullopt;
  Work work = std::move(work_.front());
  work_.pop_front();
  ++in_progress_;
  space_ready_.notify_one();
  return work;
}

void InProcessQueue::complete(Done done) {
  const std::lock_guard lock(mutex_);
  --in_progress_;
  results_.push_back(std::move(done));
  result_ready_.notify_one();
  if (in_progress_ == 0) all_returned_.notify_all();
}

void InProcessQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  work_ready_.notify_all();
  space_ready_.notify_all();
  result_ready_.notify_all();
  all_returned_.notify_all();
}

}  // namespace hone
