// A sectored L1: 128-byte lines of four 32-byte sectors, 8 ways, least recently used out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hone::emulator {

class SectorCache {
 public:
  void resize(std::int64_t bytes) {
    sets_ = static_cast<std::uint32_t>(bytes / (128 * kWays));
    if (sets_ == 0) sets_ = 1;
    ways_.assign(static_cast<std::size_t>(sets_) * kWays, kEmpty);
  }
  void clear() {
    std::fill(ways_.begin(), ways_.end(), kEmpty);
    empty_ = true;
  }
  [[nodiscard]] bool empty() const { return empty_; }

  /// Sectors (4-bit mask) of `line` that were not there; they are now.
  std::uint32_t access(std::uint64_t line, std::uint32_t sectors) {
    const std::uint64_t hash = line * 0x9E3779B97F4A7C15ull;
    std::uint64_t* const set =
        ways_.data() +
        static_cast<std::size_t>(static_cast<unsigned __int128>(hash) * sets_ >> 64) * kWays;
    const std::uint64_t key = line << 4;
    for (int k = 0; k < kWays; ++k) {
      const std::uint64_t there = set[k] ^ key;
      if (there >= 16) continue;
      for (; k > 0; --k) set[k] = set[k - 1];
      set[0] = key | there | sectors;
      return sectors & ~static_cast<std::uint32_t>(there);
    }
    empty_ = false;
    std::memmove(set + 1, set, (kWays - 1) * sizeof *set);
    set[0] = key | sectors;
    return sectors;
  }

 private:
  static constexpr int kWays = 8;
  static constexpr std::uint64_t kEmpty = ~0ull;  ///< no line has this number
  std::uint32_t sets_ = 1;
  bool empty_ = true;
  /// By set, the last used first: line << 4 | sectors.
  std::vector<std::uint64_t> ways_ = std::vector<std::uint64_t>(kWays, kEmpty);
};

/// The L1 of an SM as later blocks find it: what blocks before, or beside, loaded. What a block
/// loads itself and loses again before anybody else wants it is not found.
class SharedL1 {
 public:
  void resize(std::int64_t bytes) {
    sets_ = static_cast<std::uint32_t>(std::max<std::int64_t>(1, bytes / (128 * kWays)));
    ways_.assign(static_cast<std::size_t>(sets_) * kWays, Way{});
  }
  void clear() { std::fill(ways_.begin(), ways_.end(), Way{}); }

  /// Sectors (4-bit mask) of `line` that `block` finds there.
  std::uint32_t access(std::uint64_t line, std::uint32_t sectors, std::uint32_t block) {
    const std::uint64_t hash = line * 0x9E3779B97F4A7C15ull;
    Way* const set =
        ways_.data() +
        static_cast<std::size_t>(static_cast<unsigned __int128>(hash) * sets_ >> 64) * kWays;
    int k = 0;
    while (k < kWays - 1 && set[k].line != line) ++k;
    Way way = set[k];
    if (way.line != line) way = {.line = line, .block = block};
    if (way.block != block) {
      way.block = block;
      way.others |= way.own;
      way.own = 0;
    }
    const std::uint32_t found = sectors & way.others;
    way.own |= static_cast<std::uint8_t>(sectors);
    for (; k > 0; --k) set[k] = set[k - 1];
    set[0] = way;
    return found;
  }

 private:
  static constexpr int kWays = 8;
  struct Way {
    std::uint64_t line = ~0ull;
    std::uint32_t block = 0;
    std::uint8_t own = 0, others = 0;  ///< sectors that the last block, and those before it, loaded
  };
  std::uint32_t sets_ = 1;
  std::vector<Way> ways_;
};

}  // namespace hone::emulator
