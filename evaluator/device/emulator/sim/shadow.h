// What the checkers remember about shared memory: who touched each granule last, and whether it was
// ever written. A granule is the kernel's smallest access, so that none straddles two.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hone::emulator {

inline constexpr int kMaxWarps = 32;
// Whoever else touches shared memory: the engine that completes copies through an mbarrier, and the
// mbarrier objects themselves. They have a clock of their own.
// kClusterAgent: plain accesses of all other blocks of the cluster; the lane of its stamps is the
// block's rank.
inline constexpr int kAsyncAgent = 32, kObjectAgent = 33, kClusterAgent = 34, kAgents = 35;
inline constexpr std::uint32_t kNever = UINT32_MAX;  ///< a tick that nothing is ordered after

struct Stamp {
  std::uint32_t tick = 0;  ///< 0: never
  std::uint8_t warp = 0;
  std::uint8_t lane = 0;     ///< kManyLanes: more than one in this tick
  std::uint8_t ordered = 0;  ///< atomic or volatile
};
inline constexpr std::uint8_t kManyLanes = 255;
inline constexpr int kNobody = 254;  ///< a lane that no access has

/// What somebody has seen of everybody's ticks.
/// The second half: of what went through a proxy fence on its way here.
using ClockView = std::array<std::uint32_t, 2 * kAgents>;

/// Happens-before between the warps of a block. A warp's tick counts its synchronisations; `seen`
/// says from which tick on another warp's accesses are not ordered before ours.
class Clocks {
 public:
  /// Also which writes a fence.proxy.async has covered.
  void track_proxies() { tracked_ = 2 * kAgents; }
  void proxy_fence(int warp) {
    ClockView& mine = seen_[warp];
    for (int k = 0; k < kAgents; ++k) mine[kAgents + k] = std::max(mine[kAgents + k], mine[k]);
    mine[kAgents + warp] = ++tick_[warp];
  }
  /// Is a write, though ordered before `warp`, not covered by a proxy fence? Where only a fence and
  /// a flag order them, nothing is known.
  [[nodiscard]] bool misses_proxy_fence(int writer, std::uint32_t tick, int warp) const {
    if (tracked_ == kAgents || tick == 0 || writer >= kMaxWarps) return false;
    if (writer != warp && tick >= seen_[warp][writer]) return false;
    return tick >= seen_[warp][kAgents + writer];
  }
  void reset() {
    epoch_ = 1;
    tick_.fill(1);
    fence_.fill(0);
    for (auto& row : seen_) row.fill(0);
    seen_by_cluster_.fill(0);
    for (Horizon& h : horizons_) h.epoch = 0;
  }
  [[nodiscard]] std::uint32_t tick(int warp) const { return tick_[warp]; }
  /// __syncwarp and its like: orders the lanes of one warp.
  void warp_sync(int warp) { ++tick_[warp]; }
  /// A fence may publish what came before it through a flag: taken as ordered, never reported.
  void fence(int warp) {
    for (int k = 0; k < kAgents; ++k) fence_[k] = std::max(fence_[k], seen_[warp][k]);
    fence_[warp] = ++tick_[warp];
    ++epoch_;
  }
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  void barrier(std::uint32_t warps) {
    ++epoch_;
    ClockView joined{};
    for (std::uint32_t m = warps; m; m &= m - 1) {
      const int w = __builtin_ctz(m);
      for (int k = 0; k < tracked_; ++k) joined[k] = std::max(joined[k], seen_[w][k]);
      joined[w] = std::max(joined[w], tick_[w] + 1);
    }
    for (std::uint32_t m = warps; m; m &= m - 1) {
      const int w = __builtin_ctz(m);
      seen_[w] = joined;
      ++tick_[w];
    }
  }
  /// After a cluster barrier: what was done is before what comes, on both sides.
  void meet_cluster() {
    for (auto& row : seen_) row[kClusterAgent] = tick_[kClusterAgent] + 1;
    ++tick_[kClusterAgent];
    for (int w = 0; w < kMaxWarps; ++w) seen_by_cluster_[w] = ++tick_[w];
    ++epoch_;
  }
  /// The same where only some warps released what they had done and seen (the others arrived
  /// .relaxed), and of the other blocks perhaps nobody did.
  void meet_cluster(std::uint32_t released, bool others) {
    ClockView joined{};
    for (std::uint32_t m = released; m; m &= m - 1) {
      const int w = __builtin_ctz(m);
      for (int k = 0; k < tracked_; ++k) joined[k] = std::max(joined[k], seen_[w][k]);
      joined[w] = std::max(joined[w], tick_[w] + 1);
    }
    if (others) joined[kClusterAgent] = ++tick_[kClusterAgent];
    for (int w = 0; w < kMaxWarps; ++w) {
      for (int k = 0; k < tracked_; ++k) seen_[w][k] = std::max(seen_[w][k], joined[k]);
      seen_by_cluster_[w] = std::max(seen_by_cluster_[w], joined[w]);
      ++tick_[w];
    }
    ++epoch_;
  }
  /// An mbarrier ordered some of it: taken for all that was done so far, never reported.
  void may_have_met_cluster() {
    for (int w = 0; w < kMaxWarps; ++w) seen_by_cluster_[w] = tick_[w] + 1;
    cluster_fence();
  }
  /// A fence of another block: what its accesses here did so far may be published.
  void cluster_fence() {
    fence_[kClusterAgent] = ++tick_[kClusterAgent];
    ++epoch_;
  }
  /// Is an access by `s` to this block's memory not ordered before one of the block `rank` now?
  [[nodiscard]] bool races_with_cluster(const Stamp& s, int rank) const {
    if (s.tick == 0 || s.tick == kNever) return false;
    if (s.warp == kClusterAgent) return s.tick == tick_[kClusterAgent] && s.lane != rank;
    return s.warp < kMaxWarps && s.tick >= seen_by_cluster_[s.warp] && s.tick >= fence_[s.warp];
  }
  /// What `agent` did so far is seen by whoever acquires `view`.
  void release(int agent, ClockView& view) {
    if (agent < kMaxWarps)
      for (int k = 0; k < tracked_; ++k) view[k] = std::max(view[k], seen_[agent][k]);
    view[agent] = ++tick_[agent];
  }
  void acquire(int warp, const ClockView& view) {
    for (int k = 0; k < tracked_; ++k) seen_[warp][k] = std::max(seen_[warp][k], view[k]);
    ++epoch_;
  }
  [[nodiscard]] bool ordered_across(int earlier_warp, std::uint32_t tick, int warp) const {
    return tick < seen_[warp][earlier_warp] || tick < fence_[earlier_warp];
  }

  [[nodiscard]] std::array<std::uint32_t, kAgents> ticks() const {
    std::array<std::uint32_t, kAgents> now;
    std::copy_n(tick_.begin(), now.size(), now.begin());
    return now;
  }
  /// What a warp did before `tick` went through a fence of its own.
  [[nodiscard]] bool fenced(int warp, std::uint32_t tick) const { return tick < fence_[warp]; }

  /// ordered_across for everybody at once: accesses of agent k with a tick below horizon(warp)[k]
  /// are ordered before whatever `warp` does now; its own are below its tick.
  [[nodiscard]] const std::uint32_t* horizon(int warp) {
    Horizon& h = horizons_[warp];
    // Whatever changes what a warp has seen also begins a new epoch.
    if (h.epoch != epoch_) {
      h.epoch = epoch_;
      for (std::size_t k = 0; k < kAgents; ++k)
        h.before[k] = std::max({seen_[warp][k], fence_[k], std::uint32_t{1}});
    }
    h.before[warp] = tick_[warp];
    return h.before.data();
  }

 private:
  struct Horizon {
    std::uint32_t epoch = 0;
    std::array<std::uint32_t, 64> before{};
  };
  std::array<Horizon, kMaxWarps> horizons_;
  int tracked_ = kAgents;    ///< entries of the views in use
  std::uint32_t epoch_ = 1;  ///< barriers and fences of the block so far
  ClockView tick_{}, fence_{};
  std::array<std::uint32_t, kMaxWarps> seen_by_cluster_{};
  std::array<ClockView, kMaxWarps> seen_{};
};

struct Cell {
  Stamp writer, reader;       ///< the last ones
  std::uint32_t epoch = 0;    ///< in which `readers` read: no barrier or fence since
  std::uint32_t readers = 0;  ///< warps, of plain reads
};

class SharedShadow {
 public:
  /// `sites`: also which statement touched each granule last.
  void resize(std::size_t bytes, int granule, bool sites) {
    keeps_sites_ = sites;
    granule_shift_ = granule >= 4 ? 2 : granule == 2 ? 1 : 0;
    cells_.assign((bytes >> granule_shift_) + 8, Cell{});
    written_.assign((bytes >> granule_shift_) + 8, 0);
    if (sites) sites_.assign((bytes >> granule_shift_) + 8, Sites{});
  }
  void reset() {
    std::memset(static_cast<void*>(cells_.data()), 0, cells_.size() * sizeof(Cell));
    std::memset(written_.data(), 0, written_.size());
  }
  struct Sites {
    std::uint32_t writer = kNoSite, reader = kNoSite;  ///< in ModuleImpl::places
    static constexpr std::uint32_t kNoSite = ~0u;
  };
  [[nodiscard]] bool keeps_sites() const { return keeps_sites_; }
  Sites& sites(std::uint64_t granule) { return sites_[granule]; }
  [[nodiscard]] int shift() const { return granule_shift_; }
  Cell& cell(std::uint64_t granule) { return cells_[granule]; }
  std::uint8_t* written() { return written_.data(); }

 private:
  int granule_shift_ = 2;
  bool keeps_sites_ = false;
  std::vector<Sites> sites_;
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
  const bool plural = c.reader.tick == tick && c.reader.warp == warp && c.reader.lane != lane;
  c.reader = {tick, static_cast<std::uint8_t>(warp),
              plural ? kManyLanes : static_cast<std::uint8_t>(lane), ordered};
  if (c.epoch != clocks.epoch()) {
    c.epoch = clocks.epoch();
    c.readers = 0;
  }
  c.readers |= ordered ? 0 : 1u << warp;
  return race;
}

/// Notes a write; true when it races with an earlier access. `same`: the bytes do not change, which
/// makes it harmless.
inline bool note_write(const Clocks& clocks, Cell& c, int warp, int lane, bool ordered, bool same) {
  const auto races = [&](const Stamp& s) {
    return unordered(clocks, s, warp, lane) && !(ordered && s.ordered);
  };
  const bool race = !same && (races(c.writer) || races(c.reader) ||
                              (c.epoch == clocks.epoch() && (c.readers & ~(1u << warp))));
  // A harmless rewrite by another lane makes the writer plural.
  const bool plural =
      c.writer.tick == clocks.tick(warp) && c.writer.warp == warp && c.writer.lane != lane;
  c.writer = {clocks.tick(warp), static_cast<std::uint8_t>(warp),
              plural ? kManyLanes : static_cast<std::uint8_t>(lane), ordered};
  return race;
}

}  // namespace hone::emulator
