// Arithmetic of plain numbers that integers over indices need.
#pragma once

#include <cstdint>
#include <optional>

#include "rewriters/affine/node.h"

namespace hone::nest {

/// Rounds down, also below 0.
[[nodiscard]] inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
/// Pieces of b that cover a, neither below 0.
[[nodiscard]] inline std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// What data of an integer type can be; empty: of no type that is looked at.
[[nodiscard]] std::optional<Range> type_range(ScalarType type);

}  // namespace hone::nest
