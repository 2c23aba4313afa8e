// A run's charts, from what the database says of its candidates.
#pragma once

#include <span>
#include <string>

#include "candidates/store/store.h"

namespace hone::page {

/// Speedup over time: all that raise the best and all final stages; of the rest evenly as many as
/// can be told apart. "" where nothing was timed.
[[nodiscard]] std::string progress_of(const RunRecord& run, std::span<const RunPoint> points);

/// How many candidates came to which verdict, without final stages, the most frequent first.
[[nodiscard]] std::string population_of(std::span<const RunPoint> points);

}  // namespace hone::page
