// Whether every part of an output is right by its own measure: beside rows of large numbers, rows
// of small ones may not be left out. Pure functions; the same rule runs on the GPU
// (hone_local_kernel in device/cuda/kernels.cu).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "candidates/result.h"
#include "candidates/scalar_type.h"
#include "candidates/task.h"

namespace hone::check {

/// Elements of a buffer, whose types may differ.
struct Elements {
  std::span<const std::uint8_t> bytes;
  ScalarType type = ScalarType::kF32;
};

struct LocalComparison {
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;  ///< beyond the tolerance of their groups
  std::int64_t first_mismatch = -1;
  std::int64_t off = 0;                       ///< by more than ten times rtol of their own value
  bool explained = false;                     ///< the reference's own error was taken into account
  std::uint64_t want_bits = 0, got_bits = 0;  ///< at first_mismatch
  /// Without the reference's error, a mismatch need not be one: sums that cancel are near zero.
  [[nodiscard]] bool ok() const;
  /// As far as that can be said where the reference has no run in double: few mismatches.
  [[nodiscard]] bool mostly_ok() const;
};

/// Compares finite elements as hone_local_error in evaluator/fill/formula_compare.h says. `width`:
/// the last extent; `rms`: of all wanted values. `own` and `truth`: the reference's answer and the
/// same in double, for its own error; both empty: not known. Not of integers, and not where rtol is
/// zero: then everything is right. Errors (kInternal): lengths that do not fit each other.
[[nodiscard]] Result<LocalComparison> compare_locally(Elements want, Elements got,
                                                      std::int64_t width, double rms,
                                                      const Tolerance& tolerance, Elements own = {},
                                                      Elements truth = {});

/// Whether the local rule says anything of a buffer of this type at this tolerance.
[[nodiscard]] bool has_local_rule(ScalarType type, const Tolerance& tolerance);

/// "y[17] is 0, want 3e-05: 2048 of 4096 elements differ by the measure of their own rows"
[[nodiscard]] std::string describe(const LocalComparison& comparison, const std::string& buffer,
                                   ScalarType want_type, ScalarType type);

}  // namespace hone::check
