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
  std::int64_t mismatches = 0;
  std::int64_t first_mismatch = -1;  ///< element index
  std::int64_t worst = -1;           ///< element with the largest error
  double max_rel_error = 0;          ///< max |diff| / max(|want|, rms(want)); inf on NaN/Inf masks
  std::uint64_t want_bits = 0, got_bits = 0;  ///< at first_mismatch
  double rms = 0;                             ///< of the finite wanted values
  [[nodiscard]] bool ok() const { return mismatches == 0; }
};

/// Floats: |got - want| <= atol + rtol * max(|want|, rms(want)), NaN and Inf in the same places.
/// Integers and bool: equal. Errors (kInternal): lengths differ or are no multiple of the type.
[[nodiscard]] Result<Comparison> compare(std::span<const std::uint8_t> want,
                                         std::span<const std::uint8_t> got, ScalarType type,
                                         const Tolerance& tolerance);

/// "C[17] is 3.5, want 3.25 (12 of 4096 elements differ, largest relative error 0.08)"
[[nodiscard]] std::string describe(const Comparison& comparison, const std::string& buffer,
                                   ScalarType type, std::int64_t elements);

/// "3.25", "nan", "-7", "true"
[[nodiscard]] std::string element_text(ScalarType type, std::uint64_t bits);

}  // namespace hone::check
