// Compares a candidate's buffer with the reference's. The rule for one element is hone_error in
// evaluator/fill/formula.h, shared with the GPU.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "candidates/result.h"
#include "candidates/scalar_type.h"
#include "candidates/task.h"

namespace hone::check {

struct Comparison {
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;
  std::int64_t first_mismatch = -1;  ///< element index
  std::int64_t worst = -1;           ///< element with the largest error
  double max_rel_error = 0;          ///< max |diff| / max(|want|, rms(want)); inf on NaN/Inf masks
  double max_finite_error = 0;       ///< the same of the elements that are finite on both sides
  std::uint64_t want_bits = 0, got_bits = 0;  ///< at first_mismatch
  ScalarType want_type = ScalarType::kF32;    ///< of want_bits
  double rms = 0;                             ///< of the finite wanted values
  std::int64_t non_finite = 0;                ///< of the wanted values
  std::int64_t zeros = 0;                     ///< of them; what a GPU compares is not counted
  double norm_error = 0;  ///< root of the mean squared difference over rms(want)
  double norm_limit = 0;  ///< 0: none
  /// Wrong only because the reference is exact where this is not, which may be chance.
  bool perhaps_by_chance = false;
  [[nodiscard]] bool ok() const {
    return mismatches == 0 && (norm_limit == 0 || norm_error <= norm_limit);
  }
};

/// What hone_error is told of values that are not finite.
struct FiniteRule {
  int equality = 0;         ///< HONE_NEVER, HONE_CLASSES, HONE_OVERFLOW or HONE_NUMBERS
  double least_finite = 1;  ///< share of the wanted values; with fewer it is HONE_NEVER
};
[[nodiscard]] FiniteRule rule_of(NonFinite non_finite);

/// Floats: |got - want| <= atol + rtol * max(|want|, rms(want)), where one is not finite as
/// `tolerance.non_finite` says; and over all elements the root mean square of the differences is at
/// most kNormFactor * rtol of that of the wanted values, so that an atol above all values does not
/// let everything pass. Integers: equal. Bool: equal, and 0 or 1. `want_type` may be another
/// floating type than `type`. Errors (kInternal): lengths do not fit the types or each other.
[[nodiscard]] Result<Comparison> compare(std::span<const std::uint8_t> want, ScalarType want_type,
                                         std::span<const std::uint8_t> got, ScalarType type,
                                         const Tolerance& tolerance);
[[nodiscard]] inline Result<Comparison> compare(std::span<const std::uint8_t> want,
                                                std::span<const std::uint8_t> got, ScalarType type,
                                                const Tolerance& tolerance) {
  return compare(want, type, got, type, tolerance);
}

/// Of floats the same bits, but for NaN, of which there are many; where one is not finite as
/// `tolerance.non_finite` says.
[[nodiscard]] Tolerance same_bits(Tolerance tolerance);

inline constexpr double kNormFactor = 10;
/// Of a comparison at this tolerance.
[[nodiscard]] double norm_limit_of(ScalarType type, const Tolerance& tolerance, double rms);

/// The tolerance on inputs that the task did not choose, which may make the reference itself
/// inexact: a few times `reference_error` (against a run in double), within limits.
inline constexpr double kTimesItsError = 4, kMostLoosened = 100;
[[nodiscard]] Tolerance loosened(Tolerance tolerance, double reference_error);
/// Likewise where the reference cannot be run in double.
[[nodiscard]] Tolerance loosened_blindly(Tolerance tolerance);
/// Most of what was wanted on made-up inputs is not finite: where f32 overflows and a run in double
/// does not say the same, one order of operations gives NaN and another a number.
[[nodiscard]] bool mostly_non_finite(const Comparison& comparison, const Tolerance& tolerance);
/// Then only the numbers are compared.
[[nodiscard]] Tolerance numbers_alone(Tolerance tolerance);
/// Whether a candidate is as right as the reference where that itself has a few elements without a
/// right digit (a softmax of two scores that only rounding tells apart): both compared with a run
/// in double, the reference at the task's tolerance, the candidate at the loosened one. Floats
/// alone. Of the reference's elements at most 0.1 % are off; the candidate may have other ones,
/// four times as many and 0.01 % (they come in whole rows, so that few differ much from draw to
/// draw), all finite and of the size that the values have.
[[nodiscard]] bool as_right(const Comparison& candidate, const Comparison& reference);

/// "C[17] is 3.5, want 3.25 (12 of 4096 elements differ, largest relative error 0.08)"
[[nodiscard]] std::string describe(const Comparison& comparison, const std::string& buffer,
                                   ScalarType type, std::int64_t elements);

/// The first byte of a bool buffer that is neither 0 nor 1; -1: none, or another type.
[[nodiscard]] std::int64_t first_no_bool(std::span<const std::uint8_t> bytes, ScalarType type);

/// "3.25", "nan", "-7", "true", "255 (no bool)"
[[nodiscard]] std::string element_text(ScalarType type, std::uint64_t bits);

}  // namespace hone::check
