#pragma once

#include <mutex>

namespace hone {

/// What `function` returns, run without the lock: others go on meanwhile.
template <class Function>
auto unlocked(std::unique_lock<std::mutex>& lock, const Function& function) {
  struct Relock {
    explicit Relock(std::unique_lock<std::mutex>& held) : lock(held) { lock.unlock(); }
    ~Relock() { lock.lock(); }
    Relock(const Relock&) = delete;
    Relock& operator=(const Relock&) = delete;
    std::unique_lock<std::mutex>& lock;
  };
  const Relock relock(lock);
  return function();
}

}  // namespace hone
