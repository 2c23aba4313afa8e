// Runs under other orders of blocks and warps, which must give the same answer.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "evaluator/device/emulator/emulator.h"
#include "evaluator/protocol/messages.h"
#include "evaluator/runner/reference_runs.h"

namespace hone::runner {

using OutputBytes = std::map<std::string, std::vector<std::uint8_t>>;  ///< by buffer

/// Runs `runnable` on the same input under another schedule and compares with `want`, what grid
/// order gave. kOk when the answers agree: to the bit, or, as with float atomics, within the
/// tolerance.
[[nodiscard]] protocol::EmulateReply run_reordered(const protocol::Runnable& runnable,
                                                   const emulator::Module& module,
                                                   const protocol::Case& one,
                                                   const OutputBytes& want,
                                                   const Tolerance& tolerance, std::uint64_t budget,
                                                   std::uint64_t schedule);

/// Which of the checks shows most under another order: several blocks of several warps with work
/// for all of them, as far as that is cheap for the reference [warp instructions]. 0 of none.
[[nodiscard]] std::size_t check_to_reorder(const std::vector<protocol::Case>& checks,
                                           ReferenceRuns& references, std::uint64_t most);

/// The other checks of which one more order says something where threads exchange what no race is
/// seen of: several blocks or warps at one size on the task's own inputs, the cheapest first, as
/// long as all together are cheap enough for the reference.
[[nodiscard]] std::set<std::size_t> further_to_reorder(const std::vector<protocol::Case>& checks,
                                                       ReferenceRuns& references);

}  // namespace hone::runner
