// Time, so that tests need not wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace hone::llm {

using Milliseconds = std::chrono::milliseconds;

/// The machine's clock; tests derive their own. Thread-safe.
class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Date = std::chrono::system_clock::time_point;

  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() const { return std::chrono::steady_clock::now(); }
  [[nodiscard]] virtual Date date() const { return std::chrono::system_clock::now(); }
  /// False when `stopping` ended it early.
  virtual bool sleep(Milliseconds time, const std::stop_token& stopping) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stopping, time, [] { return false; });
    return !stopping.stop_requested();
  }
};

}  // namespace hone::llm
