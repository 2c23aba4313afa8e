// A tile program as what a generator makes.
#pragma once

#include "rewriters/schedules/generator.h"
#include "rewriters/tile/program.h"

namespace hone::schedules {

/// Its kernel and the one launch of it, checked for the goal's device. Errors: those of
/// tile::verify().
[[nodiscard]] Result<Generated> kernel_of(const tile::Program& program, const Goal& goal);

/// Inputs of the store's value that a thread can read for neighbouring outputs at once.
[[nodiscard]] std::vector<tile::Beside> inputs_beside(nest::Nodes& nodes, const tile::Store& store);

}  // namespace hone::schedules
