// Asynchronous work that ends in shared memory of any block of the cluster: bulk copies from shared
// memory, reductions, st.async and red.async; and what all loads share when they are handed to the
// block they go to, and when they land there.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/async.h"

namespace hone::emulator {
namespace {}  // namespace

// Are the last accesses here ordered before a warp of another block?
bool Async::remote_order(Async& by, Warp& w, const Inst& in, int lane, std::uint64_t offset,
                         const Cell& cell, bool reduce) {
  if (cell.writer.tick == kNever || cell.reader.tick == kNever) {
    bool ok = false;
    if (conflict("write", offset, &cell.writer, w, in, lane, ok, &by.b_)) return ok;
  }
  const auto rank = static_cast<std::size_t>(b_.cluster_rank_);
  const auto known = [&](const Stamp& s) {
    if (s.tick == 0 || s.tick == kNever || (reduce && s.ordered)) return true;
    if (s.warp == kClusterAgent) return true;  // which of the blocks ordered it is not followed
    return (s.warp < kMaxWarps && b_.clocks_.fenced(s.warp, s.tick)) ||
           by.order_.knows(by.b_.clocks_, w.index, rank, s.warp, s.tick);
  };
  const bool wrote = !known(cell.writer);
  if (!wrote && known(cell.reader)) return true;
  const auto knows = [&](int warp, std::uint32_t tick) {
    return b_.clocks_.fenced(warp, tick) ||
           by.order_.knows(by.b_.clocks_, w.index, rank, warp, tick);
  };
  if (!wrote && b_.product_finished(offset, cell, 0, knows)) return true;
  const Stamp& other = wrote ? cell.writer : cell.reader;
  const std::string who = other.warp >= kMaxWarps    ? "an asynchronous copy"
                          : other.lane == kManyLanes ? fmt::format("warp {}", other.warp)
                                                     : thread_name(other.warp, other.lane);
  return by.fail(
      w, in, lane,
      fmt::format("race: an asynchronous write of {} in block {} of the cluster, {} by "
                  "{} of that block, without an mbarrier or cluster barrier in between",
                  b_.describe(kSharedBase + offset), rank, wrote ? "written" : "read", who),
      FindingKind::kRace);
}

bool Async::claim_for(Async& by, Warp& w, const Inst& in, int lane, std::uint64_t to,
                      std::uint32_t bytes, bool reduce) {
  if (bytes == 0) return true;
  for (const Block::AsyncReads& r : b_.async_reads_)
    for (std::uint64_t piece = to >> 4; piece <= (to + bytes - 1) >> 4; ++piece)
      if (r.pieces[piece >> 6] >> (piece & 63) & 1)
        return by.fail(w, in, lane,
                       fmt::format("{} is written while a wgmma of warp {} may read it: no "
                                   "wgmma.wait_group since",
                                   b_.describe(kSharedBase + to), r.warp),
                       FindingKind::kRace);
  if (&by == this && !reduce) return claim(w, in, lane, to, bytes);
  const int shift = b_.shadow_.shift();
  const bool tracked = b_.check_races_ || b_.check_init_;
  for (std::uint64_t g = to >> shift; tracked && g < (to + bytes) >> shift; ++g) {
    // Reductions of one place may be in flight together.
    const bool again = reduce && reduces(g << shift);
    if (b_.check_races_ && !again) {
      Cell& cell = b_.shadow_.cell(g);
      const Cell before = cell;
      if (&by != this) {
        if (!remote_order(by, w, in, lane, g << shift, cell, reduce)) return false;
      } else if (note_write(b_.clocks_, cell, w.index, lane, reduce, false) &&
                 !b_.fail_race(w, in, lane, g << shift, before)) {
        return false;
      }
      cell.writer = {kNever, kAsyncAgent, kManyLanes, 0};
    }
    if (!b_.check_init_) continue;
    if (reduce && !again && !b_.shadow_.written()[g]) {
      by.b_.uninitialised_ =
          fmt::format("{} (read at line {})", b_.describe(kSharedBase + (g << shift)), in.line);
      if (!by.b_.tainted_value(w, in, 1u << lane, "is used by a reduction")) return false;
    }
    b_.shadow_.written()[g] = 0;
  }
  if (!reduce) std::memset(b_.shared_.data() + to, 0xFF, bytes);
  return true;
}

bool Async::reduces(std::uint64_t offset) const {
  for (const auto& [at, m] : barriers_)
    for (const BulkLoad& l : m.loads)
      if (l.reduce && offset >= l.to && offset < l.to + l.data.size()) return true;
  return false;
}

bool Async::deliver(Warp& w, const Inst& in, int lane, Async& to, std::uint64_t barrier,
                    BulkLoad load) {
  MBarrier* m = to.find_at(*this, w, in, lane, barrier);
  if (!m || !to.claim_for(*this, w, in, lane, load.to, static_cast<std::uint32_t>(load.data.size()),
                          load.reduce))
    return false;
  load.by = this;
  load.inst = &in;
  load.warp = w.index;
  load.lane = lane;
  m->loads.push_back(std::move(load));
  to.note_progress();
  return true;
}

// The mbarrier that a load into `to` completes, as an offset there: it must be in the same block.
bool Async::barrier_of(Warp& w, const Inst& in, int lane, const Async& to, std::uint64_t& at) {
  at = address(operands(in).barrier, lane);
  const Async* const there = home(w, in, lane, at);
  if (!there) return false;
  return there == &to ||
         fail(w, in, lane,
              fmt::format("the mbarrier at {} is in block {} of the cluster, the destination in "
                          "block {}",
                          b_.describe(kSharedBase + at), there->b_.cluster_rank_,
                          to.b_.cluster_rank_));
}

// What a load reads must stay until it lands.
bool Async::still_same(const BulkLoad& l) {
  Async& by = *l.by;
  Warp& owner = by.b_.warps_[l.warp];
  const auto changed = [&](std::uint64_t address) {
    return by.fail(owner, *l.inst, l.lane,
                   fmt::format("race: {} was written while a bulk copy that reads it was in flight",
                               by.b_.describe(address)),
                   FindingKind::kRace);
  };
  if (l.shares) {
    if (std::all_of(by.b_.warps_.begin(), by.b_.warps_.end(),
                    [](const Warp& x) { return x.done(); }) &&
        &by != this)
      return by.fail(owner, *l.inst, l.lane,
                     "the block ended while a bulk copy out of its shared memory was in flight",
                     FindingKind::kAsync);
    if (std::memcmp(by.b_.shared_.data() + l.shared_from, l.data.data(), l.data.size()) != 0)
      return changed(kSharedBase + l.shared_from);
    const int shift = by.b_.shadow_.shift();
    for (std::uint64_t g = l.shared_from >> shift; g < (l.shared_from + l.data.size()) >> shift;
         ++g) {
      Stamp& reader = by.b_.shadow_.cell(g).reader;
      if (reader.tick == kNever) reader = Stamp{};
    }
    return true;
  }
  std::vector<std::uint8_t> now;
  for (const auto& [at, from, bytes] : l.sources) {
    now.resize(bytes);
    bool unknown = false;
    std::uint64_t bad = 0;
    if (read_global(from, now.data(), bytes, unknown, bad) &&
        std::memcmp(now.data(), l.data.data() + at, bytes) != 0)
      return changed(from);
  }
  return true;
}

// `flying`: reductions that land after this one, of this mbarrier.
void Async::land_reduction(const BulkLoad& l, const Stamp& stamp,
                           const std::vector<BulkLoad>& flying, std::size_t next) {
  Inst element;
  element.type = l.inst->type;
  element.sub = static_cast<std::uint8_t>(l.op);
  element.esize = element.type.bits / 8;
  for (std::size_t i = 0; i < l.data.size(); i += element.esize) {
    std::uint64_t old = 0;
    std::uint64_t with = 0;
    std::uint8_t* const place = b_.shared_.data() + l.to + i;
    std::memcpy(&old, place, element.esize);
    std::memcpy(&with, l.data.data() + i, element.esize);
    const std::uint64_t result = apply_atomic(element, old, with);
    std::memcpy(place, &result, element.esize);
  }
  if (!b_.check_races_ && !b_.check_init_) return;
  const int shift = b_.shadow_.shift();
  for (std::uint64_t g = l.to >> shift; g < (l.to + l.data.size()) >> shift; ++g) {
    const std::uint64_t offset = g << shift;
    bool more = reduces(offset);
    for (std::size_t k = next; k < flying.size() && !more; ++k)
      more = offset >= flying[k].to && offset < flying[k].to + flying[k].data.size();
    if (more) continue;
    if (b_.check_races_) b_.shadow_.cell(g).writer = {stamp.tick, stamp.warp, stamp.lane, 1};
    if (b_.check_init_) b_.shadow_.written()[g] = 1;
  }
}

Block::Step Async::bulk_share(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  for (std::uint32_t k = mask; k; k &= k - 1) {
    const int lane = std::countr_zero(k);
    const std::uint64_t bytes = value(o.size, false, lane);
    const std::uint64_t from = address(o.from, lane);
    std::uint64_t to = address(o.to, lane);
    std::uint64_t barrier = 0;
    if (!own(w, in, lane, from)) return Step::kFail;
    Async* const there = home(w, in, lane, to);
    if (!there || !barrier_of(w, in, lane, *there, barrier)) return Step::kFail;
    if (bytes % 16 != 0 || from % 16 != 0 || to % 16 != 0) {
      fail(w, in, lane,
           fmt::format("misaligned bulk copy of {} B from {} to {} (multiples of 16)", bytes,
                       b_.describe(kSharedBase + from), b_.describe(kSharedBase + to)),
           FindingKind::kMisaligned);
      return Step::kFail;
    }
    if (!in_shared(from, bytes) || !in_shared(to, bytes)) {
      fail(w, in, lane,
           fmt::format("out-of-bounds bulk copy of {} B from {} to {}", bytes,
                       b_.describe(kSharedBase + from), b_.describe(kSharedBase + to)),
           FindingKind::kOutOfBounds);
      return Step::kFail;
    }
    if (!claim_source(w, in, lane, from, bytes)) return Step::kFail;
    BulkLoad load;
    load.to = to;
    load.shares = true;
    load.shared_from = from;
    load.reduce = o.reduce;
    load.op = o.op;
    load.data.assign(b_.shared_.begin() + static_cast<std::ptrdiff_t>(from),
                     b_.shared_.begin() + static_cast<std::ptrdiff_t>(from + bytes));
    load.unknown.assign(bytes / 4 + 1, false);
    if (b_.counting_) {
      ++b_.run_.counters.shared_loads;
      ++b_.run_.counters.shared_stores;
      b_.run_.counters.shared_wavefronts += 2 * ((bytes + 127) / 128);
      if (there != this) b_.run_.counters.remote_bytes += bytes;
      b_.access_latency_ = static_cast<std::uint32_t>(b_.run_.profile->l2_latency) +
                           static_cast<std::uint32_t>(bytes / kBytesPerCycle);
    }
    load.due = due_of(w, b_.access_latency_);
    if (!deliver(w, in, lane, *there, barrier, std::move(load))) return Step::kFail;
  }
  return Step::kNext;
}

Block::Step Async::async_store(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  const std::uint64_t bytes = std::uint64_t{in.esize} * in.vec;
  if (b_.counting_) {
    ++b_.run_.counters.shared_stores;
    b_.run_.counters.shared_wavefronts +=
        (bytes * static_cast<std::uint64_t>(std::popcount(mask)) + 127) / 128;
    b_.access_latency_ = static_cast<std::uint32_t>(b_.run_.profile->l2_latency);
  }
  for (std::uint32_t k = mask; k; k &= k - 1) {
    const int lane = std::countr_zero(k);
    std::uint64_t to = address(o.to, lane);
    std::uint64_t barrier = 0;
    Async* const there = home(w, in, lane, to);
    if (!there || !barrier_of(w, in, lane, *there, barrier)) return Step::kFail;
    if (b_.counting_ && there != this) b_.run_.counters.remote_bytes += bytes;
    const bool misaligned = to % bytes != 0;
    if (misaligned || !in_shared(to, bytes)) {
      fail(w, in, lane,
           fmt::format("{} asynchronous write of {} B at {} in block {} of the cluster",
                       misaligned ? "misaligned" : "out-of-bounds", bytes,
                       b_.describe(kSharedBase + to), there->b_.cluster_rank_),
           misaligned ? FindingKind::kMisaligned : FindingKind::kOutOfBounds);
      return Step::kFail;
    }
    BulkLoad load;
    load.to = to;
    load.reduce = o.reduce;
    load.op = o.op;
    load.data.resize(bytes);
    load.unknown.assign(bytes / 4 + 1, false);
    for (int v = 0; v < in.vec; ++v) {
      const std::uint64_t bits = value(o.values[v], in.dst_wide, lane);
      std::memcpy(load.data.data() + v * in.esize, &bits, in.esize);
      if (!w.tainting || !(b_.slot_taint(w, in, o.values[v]) >> lane & 1)) continue;
      if (o.reduce && !b_.tainted_value(w, in, 1u << lane, "is used by a reduction"))
        return Step::kFail;
      for (int i = v * in.esize / 4; i < (v + 1) * in.esize / 4; ++i)
        load.unknown[static_cast<std::size_t>(i)] = true;
    }
    load.due = due_of(w, b_.access_latency_);
    if (!deliver(w, in, lane, *there, barrier, std::move(load))) return Step::kFail;
  }
  return Step::kNext;
}

}  // namespace hone::emulator
