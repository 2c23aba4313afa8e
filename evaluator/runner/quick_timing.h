// The quick stage's timing of one program: as few runs as its noise and its chances ask for.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/runner/bench_case.h"

namespace hone::runner {

inline constexpr std::uint8_t kTimedPoison = 0xFF;
/// A reference that takes longer is run no more often than its checks need.
inline constexpr double kVerySlow_us = 0.1e6;
inline constexpr int kReferenceSamples = 10;
inline constexpr double kReferenceBudget_s = 1;
inline constexpr double kQuickBudget_s = 0.1;

struct SamplePlan {
  int most = 0;             ///< samples
  double budget_s = 0;      ///< from then on the fewest will do
  double limit_s = 0;       ///< of one run
  double best_time_us = 0;  ///< of the search: who cannot win is not timed further; 0: any may
};

/// Event-timed runs with a flushed L2 of what is loaded in `side`: a warm-up, then until the
/// samples are known well enough, each on inputs that were not there before [us].
[[nodiscard]] Step<std::vector<double>> quick_samples(BenchCase& bench, Side& side,
                                                      std::uint64_t seed, const SamplePlan& plan);

/// Whether a first run that took `us`, nothing flushed, rules out that it beats `best_time_us`.
[[nodiscard]] bool cannot_win(double us, double best_time_us);

}  // namespace hone::runner
