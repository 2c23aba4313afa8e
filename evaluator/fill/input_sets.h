// Inputs that a task does not ask for but allows: what is right on random numbers only shows.
#pragma once

#include <cstdint>
#include <string_view>

#include "candidates/program.h"

namespace hone {

/// How the floating inputs of one check are filled. All but kFar stay within the values that the
/// task's own fill may give, and all leave integers, constants, sequences and files as they are.
enum class InputSet {
  kOwn,        ///< as the task says
  kTails,      ///< most values near zero, a few large: what skips or rescales a part shows
  kEither,     ///< the two ends: what depends on signs or on the mean alone shows
  kEdges,      ///< the ends, the middle, 0, 1, -1, the tiniest
  kMultiples,  ///< small multiples of powers of two, one buffer's of fourteen bits: a product or a
               ///< sum is exact in f32 and not with fewer bits
  kSmall,      ///< a thousandth of the range, near zero or the low end: what was added shows
  kFar,        ///< where the fill has negative values: one buffer far below it and wide, the others
               ///< above, so that what overflows unless a maximum is taken off shows
};
inline constexpr InputSet kAllInputSets[] = {
    InputSet::kOwn,       InputSet::kTails, InputSet::kEither, InputSet::kEdges,
    InputSet::kMultiples, InputSet::kSmall, InputSet::kFar};

[[nodiscard]] std::string_view to_string(InputSet set);

/// The program with the fills of the set; `seed` chooses the buffer with the fourteen bits, and the
/// one below.
[[nodiscard]] ConcreteProgram with_inputs(ConcreteProgram program, InputSet set,
                                          std::uint64_t seed);

}  // namespace hone
