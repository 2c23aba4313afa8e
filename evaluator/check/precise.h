// The reference in double precision: the same source with `float` read as `double`. It says how far
// the reference itself is off, so that a candidate which is nearer to the truth is not rejected.
#pragma once

#include <optional>
#include <string_view>

#include "candidates/program.h"

namespace hone::check {

/// Does the source take floats apart into bits? In double they are rounded to float there first.
[[nodiscard]] bool rounds_through_bits(std::string_view source);

/// Buffers of f32 become f64 with the same values; everything else stays. Empty when the source
/// looks at the bits of floats in memory, uses what has no double form (tensor cores, inline
/// assembly, packed halves, arithmetic in halves), or has no f32 at all. May still fail to compile.
[[nodiscard]] std::optional<ConcreteProgram> in_double(const ConcreteProgram& program);

}  // namespace hone::check
