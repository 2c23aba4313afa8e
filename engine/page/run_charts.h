// A run's charts, from what the database says of its candidates.
#pragma once

#include <string>

#include "candidates/store/store.h"

namespace hone::page {

/// Speedup over time: what the outline has of it, and all final stages. "" where nothing was timed.
[[nodiscard]] std::string progress_of(const RunRecord& run, const RunOutline& outline);

/// How many candidates came to which verdict, without final stages, the most frequent first.
[[nodiscard]] std::string population_of(const RunOutline& outline);

}  // namespace hone::page
