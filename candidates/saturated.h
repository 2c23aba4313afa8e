// Sums of counts that a stranger may have stated, up to the largest number there is.
#pragma once

#include <cstdint>
#include <limits>

namespace hone {

/// What is too large for the type is its largest number, what is too small its smallest.
[[nodiscard]] inline std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  using Limits = std::numeric_limits<std::int64_t>;
  return a > 0 ? Limits::max() : Limits::min();
}

}  // namespace hone
