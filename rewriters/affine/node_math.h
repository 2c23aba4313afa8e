// What the makers of nodes share. Internal to rewriters.
#pragma once

#include <cstdint>
#include <optional>

#include "rewriters/affine/node.h"

namespace hone::lift {

inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

/// What data of an integer type can be; empty: of no type that is looked at.
[[nodiscard]] std::optional<Range> type_range(ScalarType type);

}  // namespace hone::lift
