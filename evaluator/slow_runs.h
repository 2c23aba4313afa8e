// Of programs that hold a GPU for long: is a run of one worth it? A kernel that runs cannot be
// stopped, so one that the time model expects to be far slower than the fastest is left out.
// Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

namespace hone {

class SlowRuns {
 public:
  /// A program that takes longer is one of these [us].
  static constexpr double kSlow_us = 50e3;

  /// What the time model said of a program of this task, and what it took [us]; 0: not known, it
  /// may be told later. The reference is such a program, too.
  void learn(const std::string& task_key, const std::string& key, double modelled_us,
             double measured_us);

  /// Would it be slow, and much slower than the fastest that was measured, if the model errs as it
  /// did with the others? False where nothing was both modelled and measured.
  [[nodiscard]] bool is_hopeless(const std::string& task_key, double modelled_us) const;

 private:
  struct Run {
    double modelled_us = 0, measured_us = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, Run>> runs_;  ///< by keys: task's, program's
};

}  // namespace hone
