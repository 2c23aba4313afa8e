// What a launch has stored so far, a bit a byte, for loads that must not see such bytes
// (ld.global.nc, __ldg): kept only where a module has such loads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "evaluator/device/emulator/sim/memory.h"

namespace hone::emulator {

struct PageStores {
  std::atomic<std::uint32_t> run = 0;  ///< that the bits belong to
  std::array<std::uint64_t, kPageBytes / 64> bits{};
};

/// Any thread. Bytes [at, at + count) of the page are stored to in this run.
void note_stores(Memory::Impl& memory, Page& page, std::uint64_t at, std::uint64_t count);
/// Whether any of them was; an access, so at most 32 bytes, aligned.
[[nodiscard]] bool stored_in_run(const Memory::Impl& memory, const Page& page, std::uint64_t at,
                                 std::uint64_t count);

}  // namespace hone::emulator
