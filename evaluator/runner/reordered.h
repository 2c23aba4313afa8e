// Runs under other orders of blocks and warps, which must give the same answer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evaluator/device/emulator/emulator.h"
#include "evaluator/protocol/messages.h"

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

}  // namespace hone::runner
