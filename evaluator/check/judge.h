// Whether one output of a candidate is right, by all that is known: the reference's answer, how far
// that is off itself, which inputs it is the answer to. Pure; what runs on the emulator is judged
// here, what runs on a GPU in runner/measure.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "candidates/result.h"
#include "candidates/task.h"
#include "evaluator/check/compare.h"
#include "evaluator/check/local.h"
#include "evaluator/fill/input_sets.h"

namespace hone::check {

struct Question {
  Elements want, got;
  std::int64_t width = 1;  ///< the last extent
  Tolerance tolerance;     ///< for_inputs()
  InputSet inputs = InputSet::kOwn;
  bool exact = false;  ///< what f32 gives without error on kMultiples must come without error
  /// The reference's answer in double, asked for only where it decides; empty bytes: there is none.
  std::function<Elements()> truth;
  /// The reference's answer where its inputs are rounded to bf16, asked for only where it decides;
  /// none: a candidate may have fewer bits than f32, or the inputs have no more.
  std::function<Elements()> coarse = {};
  /// At MathLevel::kTf32: the reference's answer, in double if that is known, where its inputs are
  /// rounded to TF32; asked for only where it decides. Empty bytes: there is none.
  std::function<Elements()> rounded = {};
  /// The reference computes in f64 alone: an output of f64 must have more bits than forty or so.
  bool in_doubles = false;
  /// On made-up inputs, too, each part counts by its own measure.
  bool locally = false;
  double operations = 0;  ///< of the reference, floating-point, for each element; 0: not known
  /// Where in the buffer each element is, where they are not all of it.
  std::span<const std::int64_t> places = {};
};

/// The comparison that decides: its ok() is the answer, `detail` says what is wrong where
/// describe() does not. Errors: as compare().
struct Judgement {
  Comparison comparison;
  std::string detail;  ///< not empty: wrong, although comparison.ok()
  [[nodiscard]] bool ok() const { return detail.empty() && comparison.ok(); }
};
[[nodiscard]] Result<Judgement> judge(const Question& question, const std::string& buffer);

}  // namespace hone::check
