// The loops over the 32 lanes that memory instructions need, in the best build for this CPU.
#pragma once

#include <cstdint>

namespace hone::emulator {

struct AddressSummary {
  std::uint64_t low_bits = 0;  ///< or of all
  std::uint64_t lowest = 0, highest = 0;
};

struct WarpLoops {
  /// out[i] = a[i] + add; lanes outside `mask` copy an active one.
  AddressSummary (*wide)(std::uint64_t* out, const std::uint64_t* a, std::uint64_t add,
                         std::uint32_t mask);
  AddressSummary (*narrow)(std::uint64_t* out, const std::uint32_t* a, std::uint32_t add,
                           std::uint32_t mask);
  /// a[i] - a[0] == relative[i] for every lane?
  bool (*same_pattern)(const std::uint64_t* a, const std::uint64_t* relative);
  /// r[i] = the 4 or 8 bytes at base + (a[i] - lo); only lanes of `mask` change.
  void (*gather4)(std::uint32_t* r, const std::uint8_t* base, const std::uint64_t* a,
                  std::uint64_t lo, std::uint32_t mask);
  void (*gather8)(std::uint64_t* r, const std::uint8_t* base, const std::uint64_t* a,
                  std::uint64_t lo, std::uint32_t mask);
};

[[nodiscard]] const WarpLoops& warp_loops();

}  // namespace hone::emulator
