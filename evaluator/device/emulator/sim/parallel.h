// The blocks of one launch on several host threads: where their order cannot be told from the
// answer.
//
// Each thread takes the next block, with a RunState of its own. What blocks touch of global memory
// is marked (touches.h), whatever the caller wants checked: two that met, a failure, a finding, a
// block that polls, an uninitialised value that matters, or a limit reached give the whole attempt
// up. The caller then puts memory back and runs the blocks in grid order, so whatever is reported
// was found there.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/traits.h"

namespace hone::emulator {

/// May blocks of this launch run in any order, as far as its code and the options say?
[[nodiscard]] bool may_run_parallel(const RunOptions& options, const Traits& traits,
                                    const LaunchConfig& launch, std::uint64_t blocks);

/// Runs them; the caller's thread is the first, others join once there is enough to do. Returns how
/// many there were. 0: grid order must decide; memory is to be rolled back and `state` thrown away.
[[nodiscard]] int run_parallel(RunState& state, const std::vector<std::uint64_t>& blocks);

}  // namespace hone::emulator
