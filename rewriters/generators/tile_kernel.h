// A tile program as what a generator makes.
#pragma once

#include "rewriters/generators/generator.h"
#include "rewriters/tile/program.h"

namespace hone::generators {

/// Its kernel and the one launch of it, checked for the goal's device. Errors: those of
/// tile::verify().
[[nodiscard]] Result<Generated> kernel_of(const tile::Program& program, const Goal& goal);

}  // namespace hone::generators
