// What the PTX ISA calls opaque, a kernel may hold but not understand: states of mbarriers, tensor
// maps. Their bits are scrambled by keys that each process draws, so that no program can tell the
// emulator by them.
#pragma once

#include <cstdint>

namespace hone::emulator {

/// `place` tells words apart that are scrambled differently.
[[nodiscard]] std::uint64_t scrambled(std::uint64_t word, std::uint32_t place = 0);
[[nodiscard]] std::uint64_t unscrambled(std::uint64_t word, std::uint32_t place = 0);

}  // namespace hone::emulator
