// Naive kernels by chance: a seed gives the text of a task, everywhere the same. Nests of one to
// four parallel dimensions with reductions, affine accesses, guards and random expressions, written
// in one of the ways in which people write such kernels.
#pragma once

#include <cstdint>
#include <string>

namespace hone::lift_tests {

[[nodiscard]] std::string random_task(std::uint64_t seed);
/// What every twelfth seed is: atomics on elements that are read from data.
[[nodiscard]] std::string random_scatter(std::uint64_t seed);

}  // namespace hone::lift_tests
