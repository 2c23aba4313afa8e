// What of a reference's answer is no number, and when there is so much of it that the answer says
// nothing: where NaN is wanted, whatever writes NaN is right. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "candidates/program.h"
#include "candidates/task.h"
#include "evaluator/fill/input_sets.h"

namespace hone::check {

struct NonFiniteElements {
  std::int64_t elements = 0;  ///< of the buffer
  std::int64_t count = 0;     ///< that are NaN or infinite
  std::int64_t first = -1;
  std::uint64_t first_bits = 0;
};
/// Of integers: none.
[[nodiscard]] NonFiniteElements non_finite_of(std::span<const std::uint8_t> bytes, ScalarType type);

/// What share of an output must be finite when a task is admitted: all but 0.1 %, anything for
/// inputs that hone made up, 1 % where NaN and infinities are meant.
[[nodiscard]] double least_finite(NonFinite non_finite);
[[nodiscard]] bool too_many(const NonFiniteElements& found, NonFinite non_finite);

/// How outputs on the task's own inputs, or on made-up ones, are compared.
[[nodiscard]] Tolerance for_inputs(Tolerance tolerance, bool made_up);

/// "12 of 4096 elements of 'out' are not finite on heavy-tailed inputs, the first is out[17] = nan"
[[nodiscard]] std::string said_of(const ConcreteBuffer& output, const NonFiniteElements& found,
                                  InputSet inputs);
/// The same, with what follows from too many of them: own inputs are a mistake of the task, which
/// `program` is the reference of, others are left out.
[[nodiscard]] std::string refusal_of(const ConcreteProgram& program, const ConcreteBuffer& output,
                                     const NonFiniteElements& found, NonFinite non_finite);
[[nodiscard]] std::string left_out(const ConcreteBuffer& output, const NonFiniteElements& found,
                                   InputSet inputs);

}  // namespace hone::check
