// Adds the time it lives to a sum.
#pragma once

#include <chrono>

namespace hone {

class StopWatch {
 public:
  /// `total` [s] must outlive the watch.
  explicit StopWatch(double& total) : total_(total) {}
  ~StopWatch() { stop(); }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

  /// Adds up; what follows is not counted.
  void stop() {
    if (!running_) return;
    running_ = false;
    total_ += std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  double& total_;
  Clock::time_point start_ = Clock::now();
  bool running_ = true;
};

}  // namespace hone
