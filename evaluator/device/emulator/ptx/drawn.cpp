// What differs from process to process in a way that no program may rely on.
#include <random>

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

// Above all buffers, in the upper half of 2^47, as on a GPU.
std::uint64_t drawn_windows() {
  constexpr std::uint64_t kFirst = 0x0000'7FD0'0000'0000, kEnd = 0x0000'8000'0000'0000;
  constexpr std::uint64_t kWindows = 5, kPlaces = (kEnd - kFirst) / kWindowBytes - kWindows;
  return kFirst + std::random_device()() % kPlaces * kWindowBytes;
}

}  // namespace hone::emulator
