// The queue of one machine: a bounded deque under a mutex.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "engine/queue/queue.h"

namespace hone {

class InProcessQueue final : public SearchQueue, public WorkerQueue {
 public:
  /// cancel() calls `hurry`, which makes work in progress return soon, and `recover` when all has.
  explicit InProcessQueue(std::size_t capacity, std::function<void()> hurry = {},
                          std::function<void()> recover = {})
      : capacity_(capacity), hurry_(std::move(hurry)), recover_(std::move(recover)) {}
  bool submit(Work work) override;
  std::optional<Done> next_result(std::chrono::milliseconds timeout) override;
  void wake() override;
  void post(Done done) override;
  void cancel() override;
  void resume() override;

  std::optional<Work> take(std::chrono::milliseconds timeout) override;
  void complete(Done done) override;
  void close() override;

 private:
  const std::size_t capacity_;
  const std::function<void()> hurry_, recover_;
  std::mutex mutex_;
  std::condition_variable work_ready_, space_ready_, result_ready_, all_returned_;
  std::deque<Work> work_;
  std::deque<Done> results_;
  std::size_t in_progress_ = 0;  ///< taken and not completed
  bool cancelled_ = false, closed_ = false, woken_ = false;
};

}  // namespace hone
