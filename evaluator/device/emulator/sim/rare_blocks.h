// Blocks that a kernel treats apart by their place in the grid alone: what its predicates say of
// every block is computed without running one, so that a sample need not be lucky to meet them.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

/// One block of each kind that no block of `sample` (by number, rising) is of: those of which there
/// are fewest first, at most eight, by number. None where predicates tell too many kinds apart, or
/// of a grid of more than four million blocks.
[[nodiscard]] std::vector<std::uint64_t> rare_blocks(const ModuleImpl& module, int function,
                                                     const LaunchConfig& launch,
                                                     const std::vector<std::uint64_t>& sample);

}  // namespace hone::emulator
