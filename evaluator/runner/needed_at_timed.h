// Which inputs must be read at the timed size, as far as single blocks show. What counts at a small
// size need not count at a large one: whether any element is above a bound is known after a few.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "evaluator/device/emulator/emulator.h"
#include "evaluator/protocol/messages.h"

namespace hone::runner {

/// Of `names` those of which nearly every part that was tried changes what a block writes. A part
/// is a sector that a block reads; its elements become others that the task's fill may hold at that
/// place, or numbers far beyond all. A lower bound: where it cannot be told (blocks take too long,
/// what they hand on is not a sum), a buffer is left out. `places` chooses the blocks.
[[nodiscard]] std::set<std::string> needed_at_timed(const protocol::Runnable& reference,
                                                    const emulator::Module& module,
                                                    std::uint64_t seed,
                                                    const std::set<std::string>& names,
                                                    std::uint64_t places);

}  // namespace hone::runner
