// What the lanes of one warp have stored to global memory since they last met: another lane that
// reads it may run before. Barriers, __syncwarp, votes, shuffles and fences count as meeting.
#pragma once

#include <array>
#include <cstdint>

namespace hone::emulator {

/// The last stores of one warp.
struct LaneStores {
  struct Store {
    std::uint32_t tick = 0;  ///< of the warp (Clocks); 0: none
    std::uint32_t mask = 0;
    std::uint32_t bytes = 0;  ///< a lane
    std::uint32_t place = 0;  ///< in ModuleImpl::places
    std::uint64_t lowest = 0, end = 0;
    std::uint64_t address[32];
  };
  static constexpr std::size_t kKept = 4;
  std::uint32_t tick = 0;  ///< of the last store
  std::size_t next = 0;
  std::uint64_t lowest = 0, end = 0;  ///< of all in this tick
  std::array<Store, kKept> last;

  /// May a load from [low, high) see one of this tick?
  [[nodiscard]] bool may_meet(std::uint32_t now, std::uint64_t low, std::uint64_t high) const {
    return tick == now && lowest < high && low < end;
  }
  void forget() {
    tick = 0;
    for (Store& s : last) s.tick = 0;
  }
};

}  // namespace hone::emulator
