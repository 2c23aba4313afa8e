// What the checkers remember about shared memory: who touched each granule last, and whether it was
// ever written. A granule is the kernel's smallest access, so that none straddles two.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hone::emulator {

inline constexpr int kMaxWarps = 32;

/// Happens-before between the warps of a block. A warp's tick counts its synchronisations; `seen`
/// says from which tick on another warp's accesses are not ordered before ours.
class Clocks {
 public:
  void reset() {
    tick_.fill(1);
    fence_.fill(0);
    for (auto& row : seen_) row.fill(0);
  }
  [[nodiscard]] std::uint32_t tick(int warp) const { return tick_[warp]; }
  /// __syncwarp and its like: orders the lanes of one warp.
  void warp_sync(int warp) { ++tick_[warp]; }
  /// A fence may publish what came before it through a flag: taken as ordered, never reported.
  void fence(int warp) { fence_[warp] = ++tick_[warp]; }
  void barrier(std::uint32_t warps) {
    std::array<std::uint32_t, kMaxWarps> joined{};
    for (std::uint32_t m = warps; m; m &= m - 1) {
      const int w = __builtin_ctz(m);
      for (int k = 0; k < kMaxWarps; ++k) joined[k] = std::max(joined[k], seen_[w][k]);
      joined[w] = std::max(joined[w], tick_[w] + 1);
    }
    for (std::uint32_t m = warps; m; m &= m - 1) {
      const int w = __builtin_ctz(m);
      seen_[w] = joined;
      ++tick_[w];
    }
  }
  [[nodiscard]] bool ordered_across(int earlier_warp, std::uint32_t tick, int warp) const {
    return tick < seen_[warp][earlier_warp] || tick < fence_[earlier_warp];
  }

 private:
  std::array<std::uint32_t, kMaxWarps> tick_{}, fence_{};
  std::array<std::array<std::uint32_t, kMaxWarps>, kMaxWarps> seen_{};
};

struct Stamp {
  std::uint32_t tick = 0;  ///< 0: never
  std::uint8_t warp = 0;
  std::uint8_t lane = 0;     ///< kManyLanes: more than one in this tick
  std::uint8_t ordered = 0;  ///< atomic or volatile
  std::uint8_t line_hint = 0;
};
inline constexpr std::uint8_t kManyLanes = 255;

struct Cell {
  Stamp writer, reader, other_reader;  ///< the readers are of different warps
};

class SharedShadow {
 public:
  void resize(std::size_t bytes, int granule) {
    granule_shift_ = granule >= 4 ? 2 : granule == 2 ? 1 : 0;
    cells_.assign((bytes >> granule_shift_) + 8, Cell{});
    written_.assign((bytes >> granule_shift_) + 8, 0);
  }
  void reset() {
    std::memset(static_cast<void*>(cells_.data()), 0, cells_.size() * sizeof(Cell));
    std::memset(written_.data(), 0, written_.size());
  }
  [[nodiscard]] int shift() const { return granule_shift_; }
  Cell& cell(std::uint64_t granule) { return cells_[granule]; }
  std::uint8_t* written() { return written_.data(); }

 private:
  int granule_shift_ = 2;
  std::vector<Cell> cells_;
  std::vector<std::uint8_t> written_;
};

/// Did the earlier access come without order before one of (warp, lane) now?
inline bool unordered(const Clocks& clocks, const Stamp& s, int warp, int lane) {
  if (s.tick == 0) return false;
  if (s.warp == warp) return s.tick == clocks.tick(warp) && s.lane != lane;
  return !clocks.ordered_across(s.warp, s.tick, warp);
}

/// Notes a read; true when it races with the last write.
inline bool note_read(const Clocks& clocks, Cell& c, int warp, int lane, bool ordered) {
  const bool race = unordered(clocks, c.writer, warp, lane) && !(ordered && c.writer.ordered);
  const std::uint32_t tick = clocks.tick(warp);
  Stamp* r = &c.reader;
  if (r->tick != 0 && r->warp != warp) {
    if (c.other_reader.tick != 0 && c.other_reader.warp != warp)
      c.other_reader = c.reader;
    else
      std::swap(c.reader, c.other_reader);
    r = &c.reader;
    if (r->warp != warp) r->tick = 0;
  }
  if (r->tick == tick && r->lane != lane)
    r->lane = kManyLanes;
  else
    r->lane = static_cast<std::uint8_t>(lane);
  r->tick = tick;
  r->warp = static_cast<std::uint8_t>(warp);
  r->ordered = ordered;
  return race;
}

/// Notes a write; true when it races with an earlier access. `same` : the bytes do not change,
/// which makes write against write harmless.
inline bool note_write(const Clocks& clocks, Cell& c, int warp, int lane, bool ordered, bool same) {
  const auto races = [&](const Stamp& s) {
    return unordered(clocks, s, warp, lane) && !(ordered && s.ordered);
  };
  const bool race =
      (!same && races(c.writer)) || (!same && (races(c.reader) || races(c.other_reader)));
  // A harmless rewrite by another lane makes the writer plural.
  const bool plural =
      c.writer.tick == clocks.tick(warp) && c.writer.warp == warp && c.writer.lane != lane;
  c.writer = {clocks.tick(warp), static_cast<std::uint8_t>(warp),
              plural ? kManyLanes : static_cast<std::uint8_t>(lane), ordered, 0};
  return race;
}

}  // namespace hone::emulator
