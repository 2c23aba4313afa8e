#include "evaluator/outpacing.h"

#include <utility>

namespace hone {

Outpacing::Check::Check(Outpacing& all, std::string task_key, double time_us)
    : all_(all), task_key_(std::move(task_key)), time_us_(time_us) {
  std::unique_lock lock(all_.mutex_);
  Programs& programs = all_.tasks_[task_key_];
  ++programs.here;
  const auto slower_than = [&](double us) { return us > 0 && time_us_ > kOutpaced * us; };
  all_.ended_.wait_for(lock, kPatience, [&] {
    outpaced_ = slower_than(programs.best_us);
    return outpaced_ || programs.checked.empty() || !slower_than(*programs.checked.begin());
  });
  if (!outpaced_) programs.checked.insert(time_us_);
}

Outpacing::Check::~Check() {
  {
    const std::lock_guard lock(all_.mutex_);
    const auto programs = all_.tasks_.find(task_key_);
    if (!outpaced_) programs->second.checked.erase(programs->second.checked.find(time_us_));
    if (--programs->second.here == 0) all_.tasks_.erase(programs);
  }
  all_.ended_.notify_all();
}

void Outpacing::Check::passes() {
  {
    const std::lock_guard lock(all_.mutex_);
    double& best_us = all_.tasks_[task_key_].best_us;
    if (best_us <= 0 || time_us_ < best_us) best_us = time_us_;
  }
  all_.ended_.notify_all();
}

}  // namespace hone
