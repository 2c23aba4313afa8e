// One at a time, in the order in which they came.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>

namespace hone {

/// Who joins is let through once all who joined before have left, however long they take to come.
/// Thread-safe; outlives its places.
class InOrder {
 public:
  /// Held by who joined; leaves when destroyed.
  class Place {
   public:
    explicit Place(InOrder& order) : order_(order) {
      const std::lock_guard hold(order_.mutex_);
      number_ = order_.next_++;
      order_.there_.insert(number_);
    }
    ~Place() {
      const std::lock_guard hold(order_.mutex_);
      order_.there_.erase(number_);
      order_.moved_.notify_all();
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Returns when it is the first.
    void wait() const {
      std::unique_lock hold(order_.mutex_);
      order_.moved_.wait(hold, [&] { return *order_.there_.begin() == number_; });
    }

   private:
    InOrder& order_;
    std::uint64_t number_ = 0;
  };

  /// How many are there.
  [[nodiscard]] std::size_t size() {
    const std::lock_guard hold(mutex_);
    return there_.size();
  }

 private:
  std::mutex mutex_;  ///< of what follows
  std::condition_variable moved_;
  std::set<std::uint64_t> there_;
  std::uint64_t next_ = 0;
};

}  // namespace hone
