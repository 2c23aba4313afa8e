// Clusters: the shared memory of other blocks, races of plain accesses to it, and the barrier of
// all of them. Asynchronous accesses are async_share.cpp's.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/lane_move.h"

namespace hone::emulator {
namespace {
constexpr std::uint64_t kClusterBarrier = 330;  // from the last arrival [cycles]: cluster_barrier_*
constexpr double kRemoteLatency = 200;          // of another SM's shared memory [cycles]
}  // namespace

std::uint8_t* Block::cluster_data(Warp& w, const Inst& in, int lane, std::uint64_t address,
                                  std::uint32_t bytes, const std::uint8_t* value) {
  const std::uint64_t rank =
      address < kRankBytes ? static_cast<std::uint64_t>(cluster_rank_) : address / kRankBytes - 1;
  const std::uint64_t at = address % kRankBytes;
  const char* what = in.kind == Kind::kStore ? "write" : in.kind == Kind::kAtom ? "atomic" : "read";
  const auto wrong = [&](FindingKind kind, std::string text) {
    add_finding(finding_at(kind, std::move(text), w, lane, &in), in.place, false);
    return nullptr;
  };
  if (rank >= cluster_.size())
    return wrong(FindingKind::kOutOfBounds,
                 fmt::format("{} of the shared memory of block {} of a cluster of {}", what, rank,
                             cluster_.size()));
  Block& owner = *cluster_[rank];
  if (at + bytes > run_.shared_bytes)
    return wrong(FindingKind::kOutOfBounds,
                 fmt::format("out-of-bounds {} of {} B at {} in block {} of the cluster", what,
                             bytes, describe(kSharedBase + at), rank));
  const bool left =
      std::all_of(owner.warps_.begin(), owner.warps_.end(), [](const Warp& x) { return x.done(); });
  if (left)
    return wrong(FindingKind::kBarrier,
                 fmt::format("{} of {} in block {} of the cluster, which has already ended", what,
                             describe(kSharedBase + at), rank));
  if (check_races_ || check_init_) {
    const int shift = shadow_.shift();
    for (std::uint64_t g = at >> shift; g < (at + bytes) >> shift; ++g) {
      if (check_races_ && in.kind != Kind::kLoad) {
        Cell& cell = owner.shadow_.cell(g);
        if (cell.writer.tick == kNever && owner.async_) {
          bool ok = false;
          if (owner.async_->conflict(what, g << shift, &cell.writer, w, in, lane, ok, this))
            return nullptr;
        }
      }
      if (check_races_ &&
          !note_cluster(w, in, lane, owner, g, value ? value + (g << shift) - at : nullptr))
        return nullptr;
      if (check_init_ && in.kind == Kind::kLoad && !owner.shadow_.written()[g]) {
        bool ok = false;  // a copy that has not landed says more
        if (owner.async_ &&
            owner.async_->conflict(what, g << shift, nullptr, w, in, lane, ok, this))
          return nullptr;
        if (!load_taint_) {
          uninitialised_ = fmt::format("{} in block {} of the cluster (read at line {})",
                                       describe(kSharedBase + at), rank, in.line);
          uninitialised_global_ = true;  // a race between blocks explains it better
        }
        load_taint_ |= 1u << lane;
      }
      if (check_init_ && in.kind != Kind::kLoad) owner.shadow_.written()[g] = 1;
    }
  }
  // What is read so early is a race with who writes it.
  if (&owner != this && in.kind != Kind::kLoad && !met_cluster())
    return wrong(FindingKind::kBarrier,
                 fmt::format("{} of {} in block {} of the cluster, which may not have begun: no "
                             "barrier of the cluster before",
                             what, describe(kSharedBase + at), rank));
  return owner.shared_.data() + at;
}

// A block's plain accesses to another's shared memory, against that block's own and those of third
// ones. Ordered are they by cluster barriers, and by any fence, acquire or release: what those
// order exactly is not followed.
bool Block::note_cluster(Warp& w, const Inst& in, int lane, Block& owner, std::uint64_t granule,
                         const std::uint8_t* value) {
  Cell& cell = owner.shadow_.cell(granule);
  const Clocks& clocks = owner.clocks_;
  const int rank = cluster_rank_;
  const bool write = in.kind != Kind::kLoad;
  const auto races = [&](const Stamp& s) {
    return clocks.races_with_cluster(s, rank) && !(in.ordered && s.ordered);
  };
  const Cell before = cell;
  const int shift = shadow_.shift();
  const bool same = write && value != nullptr &&
                    std::memcmp(owner.shared_.data() + (granule << shift), value, 1u << shift) == 0;
  const bool writer = races(cell.writer);
  const bool reader = write && races(cell.reader);
  const bool readers = write && cell.epoch == clocks.epoch() && cell.readers != 0;
  const Stamp now{clocks.tick(kClusterAgent), kClusterAgent, static_cast<std::uint8_t>(rank),
                  in.ordered};
  (write ? cell.writer : cell.reader) = now;
  bool ok = true;
  if (!same && (writer || reader || readers))
    ok = fail_cluster_race(w, in, lane, owner, granule,
                           writer   ? &before.writer
                           : reader ? &before.reader
                                    : nullptr,
                           writer);
  if (owner.shadow_.keeps_sites())
    (write ? owner.shadow_.sites(granule).writer : owner.shadow_.sites(granule).reader) = in.place;
  return ok;
}

std::string Block::toucher(const Stamp& s) const {
  const auto& launch = *run_.launch;
  if (s.warp == kClusterAgent) {
    const auto& id = s.lane < cluster_.size() ? cluster_[s.lane]->id_ : id_;
    return fmt::format("block ({},{},{}) of the cluster", id[0], id[1], id[2]);
  }
  if (s.lane == kManyLanes) return fmt::format("several threads of warp {}", s.warp);
  const std::uint32_t t = s.warp * 32u + s.lane;
  return fmt::format("thread ({},{},{})", t % launch.block[0],
                     t / launch.block[0] % launch.block[1], t / launch.block[0] / launch.block[1]);
}

bool Block::fail_cluster_race(const Warp& w, const Inst& in, int lane, Block& owner,
                              std::uint64_t granule, const Stamp* other, bool after_write) {
  run_.raced = true;
  if (run_.findings.collects() && held_.empty() &&
      run_.findings.again(FindingKind::kRace, in.place))
    return true;
  const char* what = in.kind == Kind::kStore ? "write" : in.kind == Kind::kAtom ? "atomic" : "read";
  std::string who = other ? owner.toucher(*other) : "threads";
  if (!other || other->warp != kClusterAgent) {
    const auto& id = owner.id_;
    who += fmt::format(" of block ({},{},{})", id[0], id[1], id[2]);
  }
  const std::string where =
      fmt::format("{} in block {} of the cluster",
                  describe(kSharedBase + (granule << shadow_.shift())), owner.cluster_rank_);
  Finding f = finding_at(FindingKind::kRace,
                         fmt::format("race: {} of {} without a cluster barrier after a {} by {}",
                                     what, where, after_write ? "write" : "read", who),
                         w, lane, &in);
  f.address = where;
  f.other = fmt::format("{} by {}", after_write ? "write" : "read", who);
  if (owner.shadow_.keeps_sites()) {
    const auto& sites = owner.shadow_.sites(granule);
    f.other_place = code_place(after_write ? sites.writer : sites.reader);
  }
  return add_finding(std::move(f), in.place, true);
}

void Block::synchronised_in_cluster() {
  if (!check_races_) return;
  for (Block* block : cluster_) block->clocks_.may_have_met_cluster();
}

void Block::publish(const Warp& w, bool beyond_the_block) {
  clocks_.fence(w.index);
  for (Block* other : cluster_)
    if (other != this && beyond_the_block) other->clocks_.cluster_fence();
}

void Block::count_remote(const Inst& in, std::uint32_t mask) {
  std::uint32_t lanes = 0;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const std::uint64_t at = address_[std::countr_zero(m)] & (kWindowBytes - 1);
    lanes += at >= kRankBytes && static_cast<int>(at / kRankBytes) - 1 != cluster_rank_;
  }
  run_.counters.remote_bytes += std::uint64_t{lanes} * in.esize * in.vec;
  access_latency_ =
      static_cast<std::uint32_t>(lanes ? kRemoteLatency : run_.profile->shared_latency);
}

bool Block::cluster_access(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool store = in.kind == Kind::kStore;
  const Slot* slots = function_->extra.data() + in.extra;
  if (counting_) {
    (store ? run_.counters.shared_stores : run_.counters.shared_loads)++;
    run_.counters.shared_wavefronts += bank_cycles(in, mask);
    count_remote(in, mask);
    if (store) w.stored_remotely = w.time();
  }
  if (store) ++run_.changes;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint8_t value[64];
    for (int v = 0; store && v < in.vec; ++v)
      get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, value + v * in.esize);
    std::uint8_t* data =
        cluster_data(w, in, lane, address_[lane], in.esize * in.vec, store ? value : nullptr);
    if (!data) return false;
    for (int v = 0; v < in.vec; ++v) {
      if (slots[v] == kNone) continue;
      if (store)
        get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, data + v * in.esize);
      else
        put_lane(reg(slots[v]), in.dst_wide, in.sign_extend, in.esize, lane, data + v * in.esize);
    }
  }
  return true;
}

// Where only shared::cta is allowed.
bool Async::own(Warp& w, const Inst& in, int lane, std::uint64_t at) {
  if (at < kRankBytes || at >= kWindowBytes) return true;
  return fail(w, in, lane,
              fmt::format("this instruction takes shared memory of its own block only, not {} of "
                          "block {} of the cluster",
                          b_.describe(kSharedBase + at % kRankBytes), at / kRankBytes - 1),
              FindingKind::kOutOfBounds);
}

Async* Async::home(Warp& w, const Inst& in, int lane, std::uint64_t& at) {
  if (at < kRankBytes || at >= kWindowBytes) return this;
  const std::uint64_t rank = at / kRankBytes - 1;
  at %= kRankBytes;
  if (rank >= b_.cluster_.size()) {
    fail(w, in, lane,
         fmt::format("use of the shared memory of block {} of a cluster of {}", rank,
                     b_.cluster_.size()),
         FindingKind::kOutOfBounds);
    return nullptr;
  }
  Block& block = *b_.cluster_[rank];
  if (std::all_of(block.warps_.begin(), block.warps_.end(),
                  [](const Warp& x) { return x.done(); })) {
    fail(w, in, lane,
         fmt::format("use of {} in block {} of the cluster, which has already ended",
                     b_.describe(kSharedBase + at), rank),
         FindingKind::kBarrier);
    return nullptr;
  }
  if (!block.async_) block.async_ = std::make_unique<Async>(block);
  return block.async_.get();
}

bool Block::met_cluster() const { return async_ && async_->cluster_phase() > 0; }

Block::Step Async::map_rank(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool map = static_cast<AsyncOp>(in.sub) == AsyncOp::kMapRank;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t base = in.space == Space::kShared ? 0 : kSharedBase;
    const std::uint64_t at = value(in.a, in.addr_wide, lane) - base;
    if (!map) {
      b_.reg32(in.d)[lane] = at < kRankBytes ? static_cast<std::uint32_t>(b_.cluster_rank_)
                                             : static_cast<std::uint32_t>(at / kRankBytes - 1);
      continue;
    }
    const std::uint32_t rank = b_.reg32(in.b)[lane];
    if (rank >= b_.cluster_.size()) {
      fail(w, in, lane,
           fmt::format("mapa to block {} of a cluster of {}", rank, b_.cluster_.size()),
           FindingKind::kOutOfBounds);
      return Step::kFail;
    }
    const std::uint64_t mapped = base + (rank + 1) * kRankBytes + at % kRankBytes;
    if (in.dst_wide)
      b_.reg64(in.d)[lane] = mapped;
    else
      b_.reg32(in.d)[lane] = static_cast<std::uint32_t>(mapped);
  }
  if (w.tainting) b_.set_taint(w, in, mask, 0);
  return Step::kNext;
}

Block::Step Async::cluster_arrive(Warp& w, const Inst& in, std::uint32_t mask) {
  PerWarp& mine = of(w);
  mine.cluster_relaxed = mine.cluster_relaxed || !in.publishes;
  mine.cluster_arrived |= mask;
  mine.cluster_phase = cluster_phase_;
  // What it stored into other blocks is there first.
  const std::uint64_t there = w.stored_remotely + static_cast<std::uint64_t>(kRemoteLatency);
  if (b_.counting_ && w.stored_remotely != 0 && there > w.time()) w.pause(there - w.time());
  w.stored_remotely = 0;
  b_.land_all_late();
  ++b_.run_.changes;
  complete_cluster_barrier();
  return Step::kNext;
}

// Threads that have ended are not waited for.
bool Async::complete_cluster_barrier() {
  bool anybody = false;
  Moment last;
  for (Block* block : b_.cluster_) {
    for (const Warp& w : block->warps_) {
      if (w.done()) continue;
      if (!block->async_) return false;
      if (w.alive & ~block->async_->of(w).cluster_arrived) return false;
      last.not_before(w.moment());
      anybody = true;
    }
  }
  if (!anybody) return false;
  std::uint32_t releasing = 0;  // blocks
  for (const Block* block : b_.cluster_)
    for (const Warp& w : block->warps_)
      if (!block->async_ || !block->async_->of(w).cluster_relaxed)
        releasing |= 1u << block->cluster_rank_;
  std::vector<BlockOrder::Arrival> arrivals;
  for (Block* block : b_.cluster_) {
    if (!block->async_) continue;
    Async& other = *block->async_;
    ++other.cluster_phase_;
    std::uint32_t all = 0, released = 0;
    for (Warp& w : block->warps_) {
      PerWarp& its = other.of(w);
      its.cluster_arrived = 0;
      all |= 1u << w.index;
      if (!its.cluster_relaxed) released |= 1u << w.index;
      its.cluster_relaxed = false;
      if (w.barrier == kAtClusterBarrier) w.barrier = -1;
      if (b_.counting_ && !w.done()) w.wait_until(last.after(kClusterBarrier));
    }
    arrivals.push_back({&block->global_order_, released, all});
    if (b_.check_races_) {
      const bool others = (releasing & ~(1u << block->cluster_rank_)) != 0;
      if (released == all && (others || b_.cluster_.size() == 1)) {
        block->clocks_.barrier(all);
        block->clocks_.meet_cluster();
      } else {
        block->clocks_.meet_cluster(released, others);
      }
    }
    other.stuck_ = 0;
  }
  if (b_.orders_cluster()) BlockOrder::meet(arrivals);
  if (b_.check_races_ && b_.cluster_.size() > 1)
    for (Block* block : b_.cluster_)
      for (Block* other : b_.cluster_)
        if (block != other && block->async_)
          block->async_->order_.all_learn(static_cast<std::size_t>(other->cluster_rank_),
                                          other->clocks_.ticks());
  ++b_.run_.changes;
  return true;
}

Block::Step Async::cluster_wait(Warp& w, const Inst& in, std::uint32_t mask) {
  PerWarp& mine = of(w);
  if (mine.cluster_phase != cluster_phase_) {
    mine.rotations = 0;
    return Step::kNext;
  }
  if (mask & ~mine.cluster_arrived) {
    fail(w, in, std::countr_zero(mask & ~mine.cluster_arrived),
         "barrier.cluster.wait without barrier.cluster.arrive", FindingKind::kBarrier);
    return Step::kFail;
  }
  if (mine.rotations < w.stack.size() && b_.rotate(w, true)) {
    ++mine.rotations;
    return Step::kYield;
  }
  mine.rotations = 0;
  w.barrier = kAtClusterBarrier;
  w.barrier_inst = w.stack.back().pc;
  w.barrier_function = w.stack.back().function;
  return Step::kYield;
}

}  // namespace hone::emulator
