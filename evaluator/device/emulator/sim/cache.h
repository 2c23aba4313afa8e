// A sectored L1: 128-byte lines of four 32-byte sectors, 8 ways, least recently used out.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace hone::emulator {

class SectorCache {
 public:
  void resize(std::int64_t bytes) {
    sets_ = static_cast<std::uint32_t>(bytes / (128 * kWays));
    if (sets_ == 0) sets_ = 1;
    ways_.assign(static_cast<std::size_t>(sets_) * kWays, Way{});
    clock_ = 0;
  }
  void clear() {
    for (Way& w : ways_) w = Way{};
  }

  /// Sectors (4-bit mask) of `line` that were not there; they are now.
  std::uint32_t access(std::uint64_t line, std::uint32_t sectors) {
    const std::uint64_t hash = line * 0x9E3779B97F4A7C15ull;
    Way* set = &ways_[(static_cast<unsigned __int128>(hash) * sets_ >> 64) * kWays];
    ++clock_;
    int victim = 0;
    for (int k = 0; k < kWays; ++k) {
      if (set[k].line == line) {
        const std::uint32_t missing = sectors & ~set[k].sectors;
        set[k].sectors |= sectors;
        set[k].used = clock_;
        return missing;
      }
      if (set[k].used < set[victim].used) victim = k;
    }
    set[victim] = {line, sectors, clock_};
    return sectors;
  }

 private:
  static constexpr int kWays = 8;
  struct Way {
    std::uint64_t line = ~0ull;
    std::uint32_t sectors = 0;
    std::uint32_t used = 0;
  };
  std::uint32_t sets_ = 1;
  std::uint32_t clock_ = 0;
  std::vector<Way> ways_ = std::vector<Way>(kWays);
};

}  // namespace hone::emulator
