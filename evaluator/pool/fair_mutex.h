// A mutex whose waiters get it in the order in which they came. std::mutex promises no order, and a
// candidate that is overtaken for long holds up a search that settles outcomes in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>

namespace hone {

class FairMutex {
 public:
  void lock() {
    std::unique_lock hold(mutex_);
    if (!held_) {
      held_ = true;
      return;
    }
    Waiter self;
    waiting_.push_back(&self);
    self.called.wait(hold, [&] { return self.served; });
  }

  [[nodiscard]] std::size_t waiting() {
    std::lock_guard hold(mutex_);
    return waiting_.size();
  }

  /// Hands over to the first that waits: only that one wakes.
  void unlock() {
    std::lock_guard hold(mutex_);
    if (waiting_.empty()) {
      held_ = false;
      return;
    }
    Waiter* next = waiting_.front();
    waiting_.pop_front();
    next->served = true;
    next->called.notify_one();
  }

 private:
  struct Waiter {
    std::condition_variable called;
    bool served = false;
  };
  std::mutex mutex_;  ///< of what follows
  std::list<Waiter*> waiting_;
  bool held_ = false;
};

}  // namespace hone
