// The time of one search: what of its budget is over, and who ends it before.
#pragma once

#include <atomic>
#include <chrono>

#include "engine/search/phases/time_plan.h"
#include "engine/search/search.h"

namespace hone::search {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
inline Clock::duration as_duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

class SearchClock {
 public:
  SearchClock(const SearchOptions& options, bool modelled)
      : plan(options.settings.budget, modelled), options_(options) {
    restart();
  }

  /// As if the search began now, with what was spent before it.
  void restart() {
    start_ = Clock::now() - as_duration(options_.spent_s);
    paused_before_s_ = paused_s();
  }
  [[nodiscard]] double elapsed_s() const {
    return seconds_since(start_) - (paused_s() - paused_before_s_);
  }
  /// Until `end` [s of the plan]; negative: it is over.
  [[nodiscard]] double left_s(double end) const { return end - elapsed_s(); }
  /// The user wants it to finish with what is there.
  [[nodiscard]] bool stopped() const { return options_.stop != nullptr && *options_.stop; }
  /// Nobody waits for its outcome.
  [[nodiscard]] bool abandoned() const { return options_.abandon != nullptr && *options_.abandon; }

  TimePlan plan;

 private:
  [[nodiscard]] double paused_s() const { return options_.paused_s ? options_.paused_s() : 0; }

  const SearchOptions& options_;
  Clock::time_point start_;
  double paused_before_s_ = 0;
};

}  // namespace hone::search
