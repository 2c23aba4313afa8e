// At most so many at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

namespace hone::llm {

/// Thread-safe.
class Turns {
 public:
  explicit Turns(int most) : free_(most) {}

  class Turn {
   public:
    explicit Turn(Turns* turns) : turns_(turns) {}
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->give_back();
    }
    explicit operator bool() const { return turns_ != nullptr; }

   private:
    Turns* turns_;
  };

  /// Waits for one, at most so long; an empty one where that was over or `stopping` came first.
  [[nodiscard]] Turn take(const std::stop_token& stopping, std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    if (!given_back_.wait_for(lock, stopping, most, [this] { return free_ > 0; }))
      return Turn(nullptr);
    --free_;
    return Turn(this);
  }

 private:
  void give_back() {
    {
      std::lock_guard lock(mutex_);
      ++free_;
    }
    given_back_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable_any given_back_;
  int free_;
};

}  // namespace hone::llm
