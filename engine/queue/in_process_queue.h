// The queue of one machine: a bounded deque under a mutex.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "engine/queue/queue.h"

namespace hone {

class InProcessQueue final : public Queue {
 public:
  explicit InProcessQueue(std::size_t capacity) : capacity_(capacity) {}
  bool submit(Work work) override;
  std::optional<Work> take(std::chrono::milliseconds timeout) override;
  void complete(Done done) override;
  std::optional<Done> next_result(std::chrono::milliseconds timeout) override;
  void close() override;

 private:
  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable work_ready_, space_ready_, result_ready_;
  std::deque<Work> work_;
  std::deque<Done> results_;
  bool closed_ = false;
};

}  // namespace hone
