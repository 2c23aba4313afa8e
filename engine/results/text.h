// Numbers as people read them.
#pragma once

#include <string>

#include "candidates/recipe.h"

namespace hone::results {

/// "12.30 us", "4.560 ms"
[[nodiscard]] std::string time_text(double time_us);
/// "coarsen-threads > unroll".
[[nodiscard]] std::string recipe_names(const Recipe& recipe);

}  // namespace hone::results
