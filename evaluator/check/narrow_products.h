// Does a candidate multiply in fewer bits than its inputs have? Tensor cores have no f32: what is
// split into parts of 8 or 11 bits loses some, unless all products of all parts are added.
#pragma once

#include <string>
#include <string_view>

#include "candidates/program.h"

namespace hone::check {

/// The narrowest type of a tensor core's operands in the candidate's PTX, if that has fewer bits
/// than every floating input of the reference and the reference's PTX multiplies nothing as narrow;
/// else empty.
[[nodiscard]] std::string narrow_products(const ConcreteProgram& reference,
                                          std::string_view reference_ptx,
                                          std::string_view candidate_ptx);

/// Whether tensor maps of the candidate round to tf32 an input of the reference that has more bits,
/// or something else where every floating input has more, and the reference neither has such maps
/// nor multiplies as narrow.
[[nodiscard]] bool copies_as_tf32(const ConcreteProgram& reference, std::string_view reference_ptx,
                                  const ConcreteProgram& candidate);

}  // namespace hone::check
