// Of programs that are timed before they are checked: those that are far slower than one that is
// being checked wait for what comes of it, and are not checked where that is right. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace hone {

class Outpacing {
 public:
  /// Times the best so far: then checking a program further is not worth the processor.
  static constexpr double kOutpaced = 1.3;
  static constexpr std::chrono::seconds kPatience{2};

  /// While one lives, a program of a task is being checked.
  class Check {
   public:
    /// Waits while a program is being checked that is faster by kOutpaced [us], at most kPatience.
    /// `task_key`: of one search.
    Check(Outpacing& all, std::string task_key, double time_us);
    ~Check();
    Check(const Check&) = delete;
    Check& operator=(const Check&) = delete;
    /// One for which it waited has passed: this one need not be checked.
    [[nodiscard]] bool outpaced() const { return outpaced_; }
    void passes();

   private:
    Outpacing& all_;
    const std::string task_key_;
    const double time_us_;
    bool outpaced_ = false;
  };

 private:
  struct Programs {
    std::multiset<double> checked;  ///< those that are being checked [us]
    double best_us = 0;             ///< of those that have passed meanwhile; 0: none
    int here = 0;                   ///< that are being checked, or wait
  };

  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<std::string, Programs> tasks_;  ///< those of which programs are here
};

}  // namespace hone
