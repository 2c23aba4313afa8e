// Blocks whose data decide that they do other work than those of a sample: whether a loop runs, and
// how long. What decides is computed for every thread of the grid, the rest of the kernel is not.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/device/emulator/ptx/isa.h"
#include "evaluator/device/emulator/sim/memory.h"

namespace hone::emulator {

/// At most eight blocks, by number, in which a branch around a loop goes another way than in every
/// block of `sample`, or a value that decides how long a loop runs is larger or smaller than in all
/// of them. Followed are loads from global memory at addresses that follow from the thread's place,
/// the launch and other such loads, whatever earlier launches left there.
[[nodiscard]] std::vector<std::uint64_t> missed_by_data(const ModuleImpl& module, int function,
                                                        const LaunchConfig& launch,
                                                        Memory::Impl& memory,
                                                        const std::vector<std::uint64_t>& sample);

}  // namespace hone::emulator
