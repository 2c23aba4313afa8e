// How a budget in seconds is divided: when admission, search and final stage end at the latest. All
// times are seconds since the budget began, which is when the process did; infinity: never.
#pragma once

#include <cstdint>

#include "engine/search/budget.h"

namespace hone {

class TimePlan {
 public:
  TimePlan(const Budget& budget, bool modelled) : budget_(budget), modelled_(modelled) {}

  /// What admission learned: the reference's time, and what the admission itself took. It ended
  /// `now_s` after the budget began: opening a GPU for the first time takes seconds, too.
  void admitted(double reference_time_us, double admission_s, double now_s);
  /// What it took to compile the best until now, with the waiting for a free processor.
  void compiled(double best_s);
  /// And to check it, likewise.
  void checked(double best_s);
  /// All that the strategy sent ahead has an answer.
  void pioneers_answered() { pioneers_out_ = false; }
  /// How fast the search goes: `finished` evaluations in `search_s`. May be said again and again.
  void searched(double search_s, std::int64_t finished);

  /// Without a reference that runs there is nothing to search for: admission may take all of it.
  [[nodiscard]] double admission_end() const;
  /// Leaves the final stage its share, once there is something faster to time.
  [[nodiscard]] double search_end() const;
  /// That of a search that finds something faster: what is proposed later is not sure to be
  /// measured.
  [[nodiscard]] double proposals_end() const;
  /// Where it is known what was fastest before, a search goes on until then for it to be evaluated.
  [[nodiscard]] double known_end() const;
  /// Past the budget by less than the run as a whole may be: results are still written after it.
  [[nodiscard]] double finals_end() const;
  /// After finals_end(), while no finalist has a result: without one all was for nothing.
  [[nodiscard]] double for_the_first_s() const;
  /// Of final stages together: once the budget is over, those of the best and the reference are
  /// enough after so long.
  [[nodiscard]] double enough_finals_s() const;
  /// As many of `wanted` as the final stage's share has time for; at least two, if so many are
  /// wanted.
  [[nodiscard]] int affordable_finalists(int wanted) const;
  /// On a GPU: measuring is expensive.
  [[nodiscard]] bool reference_is_slow() const;

 private:
  [[nodiscard]] bool reference_is_very_slow() const;
  /// In one final stage.
  [[nodiscard]] double runs_of_reference() const;
  [[nodiscard]] double seconds_per_finalist() const;
  [[nodiscard]] double seconds_of_reference() const;
  [[nodiscard]] double seconds_of_finals() const;

  Budget budget_;
  bool modelled_;
  double reference_s_ = 0, admission_s_ = 0, search_begin_s_ = 0, evaluation_s_ = 0;
  bool found_ = false;  ///< something faster than the reference
  bool pioneers_out_ = true;
  double best_compile_s_ = 0, best_check_s_ = 0;  ///< 0: not known
};

}  // namespace hone
