#include "evaluator/slow_runs.h"

#include <algorithm>
#include <vector>

#include "evaluator/timing/statistics.h"

namespace hone {
namespace {

/// Times the fastest. The model ranks programs of one task well, but some it takes to be two or
/// three times slower than they are.
constexpr double kFar = 4;
/// Of one task, and of tasks.
constexpr std::size_t kMostRuns = 256, kMostTasks = 64;

}  // namespace

void SlowRuns::learn(const std::string& task_key, const std::string& key, double modelled_us,
                     double measured_us) {
  const std::lock_guard lock(mutex_);
  if (runs_.size() >= kMostTasks && !runs_.contains(task_key)) runs_.clear();
  auto& runs = runs_[task_key];
  if (runs.size() >= kMostRuns && !runs.contains(key)) return;
  Run& run = runs[key];
  if (modelled_us > 0) run.modelled_us = modelled_us;
  if (measured_us > 0) run.measured_us = measured_us;
}

bool SlowRuns::is_hopeless(const std::string& task_key, double modelled_us) const {
  const std::lock_guard lock(mutex_);
  const auto runs = runs_.find(task_key);
  if (runs == runs_.end()) return false;
  double fastest_us = 0;
  std::vector<double> ratios;
  for (const auto& [key, run] : runs->second) {
    if (run.measured_us <= 0) continue;
    fastest_us = fastest_us > 0 ? std::min(fastest_us, run.measured_us) : run.measured_us;
    if (run.modelled_us > 0) ratios.push_back(run.measured_us / run.modelled_us);
  }
  if (ratios.empty()) return false;
  const double expected_us = modelled_us * timing::median(ratios);
  return expected_us > kSlow_us && expected_us > kFar * fastest_us;
}

}  // namespace hone
