// A mutex whose waiters get it in the order in which they came. std::mutex promises no order, and a
// candidate that is overtaken for long holds up a search that settles outcomes in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace hone {

class FairMutex {
 public:
  void lock() {
    std::unique_lock hold(mutex_);
    const std::uint64_t ticket = next_++;
    called_.wait(hold, [&] { return ticket == now_; });
  }
  void unlock() {
    std::lock_guard hold(mutex_);
    ++now_;
    called_.notify_all();
  }

 private:
  std::mutex mutex_;  ///< of what follows
  std::condition_variable called_;
  std::uint64_t next_ = 0, now_ = 0;
};

}  // namespace hone
