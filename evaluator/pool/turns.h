// Who goes next: in the order in which they came, one at a time or a few; or by number, a few.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace hone {

/// Who joins is let through once all who joined before have left, however long they take to come,
/// but see wait(); with `at_once` above 1 once fewer than so many of those are still there.
/// Thread-safe; outlives its places.
class InOrder {
 public:
  using Clock = std::chrono::steady_clock;
  explicit InOrder(std::size_t at_once = 1) : at_once_(at_once) {}

  /// Held by who joined; leaves when destroyed.
  class Place {
   public:
    explicit Place(InOrder& order) : order_(order) {
      const std::lock_guard hold(order_.mutex_);
      number_ = order_.next_++;
      order_.there_.emplace(number_, Is::kComing);
    }
    ~Place() {
      const std::lock_guard hold(order_.mutex_);
      order_.there_.erase(number_);
      order_.moved_.notify_all();
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Returns when it is among the first. Who has waited for `patience` does not wait for those
    /// who have not come yet.
    void wait(Clock::duration patience = Clock::duration::max()) const {
      std::unique_lock hold(order_.mutex_);
      Is& mine = order_.there_.at(number_);
      mine = Is::kWaiting;
      const bool patient = patience == Clock::duration::max();
      const auto until = patient ? Clock::time_point::max() : Clock::now() + patience;
      for (;;) {
        const bool waited = !patient && Clock::now() >= until;
        if (order_.may_go(number_, waited)) break;
        if (patient || waited) {
          order_.moved_.wait(hold);
        } else {
          order_.moved_.wait_until(hold, until);
        }
      }
      mine = Is::kThrough;
      order_.moved_.notify_all();  // who comes later may have waited for this one to go first
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
  /// How many have come and are not through.
  [[nodiscard]] std::size_t waiting() {
    const std::lock_guard hold(mutex_);
    std::size_t count = 0;
    for (const auto& [number, is] : there_) count += is == Is::kWaiting ? 1U : 0U;
    return count;
  }

 private:
  enum class Is : std::uint8_t { kComing, kWaiting, kThrough };

  [[nodiscard]] bool may_go(std::uint64_t number, bool waited_enough) const {
    std::size_t before = 0, through = 0;
    bool others_wait = false;
    for (const auto& [other, is] : there_) {
      through += is == Is::kThrough ? 1U : 0U;
      if (other >= number) continue;
      before += is == Is::kThrough ? 0U : 1U;
      others_wait = others_wait || is == Is::kWaiting;
    }
    return before + through < at_once_ || (waited_enough && !others_wait && through < at_once_);
  }

  const std::size_t at_once_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable moved_;
  std::map<std::uint64_t, Is> there_;
  std::uint64_t next_ = 0;
};

/// So many at once; of those who wait, the lowest number first. Thread-safe.
class Seats {
 public:
  explicit Seats(int count) : free_(count) {}

  class Seat {
   public:
    /// Returns when there is one for it.
    Seat(Seats& seats, std::uint64_t number) : seats_(seats) {
      std::unique_lock hold(seats_.mutex_);
      const auto mine = seats_.waiting_.insert(number);
      seats_.moved_.wait(hold,
                         [&] { return seats_.free_ > 0 && *seats_.waiting_.begin() == number; });
      seats_.waiting_.erase(mine);
      --seats_.free_;
      if (seats_.free_ > 0) seats_.moved_.notify_all();
    }
    ~Seat() {
      const std::lock_guard hold(seats_.mutex_);
      ++seats_.free_;
      seats_.moved_.notify_all();
    }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

   private:
    Seats& seats_;
  };

  /// How many wait.
  [[nodiscard]] std::size_t waiting() {
    const std::lock_guard hold(mutex_);
    return waiting_.size();
  }

 private:
  std::mutex mutex_;  ///< of what follows
  std::condition_variable moved_;
  int free_;
  std::multiset<std::uint64_t> waiting_;
};

}  // namespace hone
