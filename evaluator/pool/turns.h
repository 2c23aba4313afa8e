// Who goes next: in the order in which they came, one at a time or a few; or by number, a few.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <set>

namespace hone {

/// Who joins is let through once all who joined before have left, however long they take to come;
/// with `at_once` above 1 once fewer than so many of those are still there. Thread-safe; outlives
/// its places.
class InOrder {
 public:
  explicit InOrder(std::size_t at_once = 1) : at_once_(at_once) {}

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

    /// Returns when it is among the first.
    void wait() const {
      std::unique_lock hold(order_.mutex_);
      order_.moved_.wait(hold, [&] {
        const auto before = std::distance(order_.there_.begin(), order_.there_.find(number_));
        return static_cast<std::size_t>(before) < order_.at_once_;
      });
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
  const std::size_t at_once_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable moved_;
  std::set<std::uint64_t> there_;
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
