// What the families of asynchronous instructions share: dispatch, addresses, and the marks that a
// copy in flight leaves in shared memory.
#include "evaluator/device/emulator/sim/async.h"

#include "evaluator/device/emulator/sim/opaque.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace hone::emulator {

void Async::reset() {
  for (PerWarp& p : warps_) p = PerWarp{};
  barriers_.clear();
  order_.reset();
  stuck_ = 0;
  cluster_phase_ = 0;
}

Async::PerWarp& Async::of(const Warp& w) {
  if (warps_.size() < b_.warps_.size()) warps_.resize(b_.warps_.size());
  return warps_[w.index];
}

Block::Step Async::run(Warp& w, const Inst& in, std::uint32_t mask) {
  if (w.tainting && !known_operands(w, in, mask)) return Step::kFail;
  switch (static_cast<AsyncOp>(in.sub)) {
    case AsyncOp::kCopy:
      return copy(w, in, mask);
    case AsyncOp::kCommit:
      return commit(w, mask);
    case AsyncOp::kWaitGroup:
      return wait(w, in, mask, false);
    case AsyncOp::kWaitAll:
      return wait(w, in, mask, true);
    case AsyncOp::kArriveOnCopies:
      return arrive_on_copies(w, in, mask);
    case AsyncOp::kBarrierInit:
    case AsyncOp::kBarrierInval:
      return barrier_init(w, in, mask);
    case AsyncOp::kBarrierArrive:
      return barrier_arrive(w, in, mask);
    case AsyncOp::kBarrierExpect:
    case AsyncOp::kBarrierComplete:
      return barrier_transactions(w, in, mask);
    case AsyncOp::kBarrierTest:
      return barrier_test(w, in, mask);
    case AsyncOp::kBarrierPending:
      for (std::uint32_t m = mask; m; m &= m - 1) {
        const int lane = std::countr_zero(m);
        b_.reg32(in.d)[lane] = static_cast<std::uint32_t>(
            unscrambled(value(operands(in).size, true, lane)) & 0xFFFFFu);
      }
      return Step::kNext;
    case AsyncOp::kMapRank:
    case AsyncOp::kRank:
      return map_rank(w, in, mask);
    case AsyncOp::kClusterArrive:
      return cluster_arrive(w, in, mask);
    case AsyncOp::kClusterWait:
      return cluster_wait(w, in, mask);
    case AsyncOp::kSetRegisters:
      if (in.imm < 24 || in.imm > 256 || in.imm % 8 != 0) {
        fail(w, in, std::countr_zero(mask),
             fmt::format("setmaxnreg of {} registers (24 to 256, a multiple of 8)", in.imm),
             FindingKind::kOther);
        return Step::kFail;
      }
      return Step::kNext;
    case AsyncOp::kBulkLoad:
      return bulk_load(w, in, mask);
    case AsyncOp::kBulkShare:
      return bulk_share(w, in, mask);
    case AsyncOp::kAsyncStore:
      return async_store(w, in, mask);
    case AsyncOp::kBulkStore:
      return bulk_store(w, in, mask);
    case AsyncOp::kBulkCommit:
      return bulk_wait(w, in, mask, true);
    case AsyncOp::kBulkWait:
      return bulk_wait(w, in, mask, false);
    case AsyncOp::kProxyFence:
      if (b_.check_races_) b_.clocks_.proxy_fence(w.index);
      if (b_.counting_) b_.count_membars(w, static_cast<Membars>(in.imm));
      return Step::kNext;
    default:
      fail(w, in, std::countr_zero(mask), "the emulator does not cover an asynchronous instruction",
           FindingKind::kUnsupported);
      return Step::kFail;
  }
}

std::uint64_t Async::value(Slot slot, bool wide, int lane) const {
  return wide ? b_.reg64(slot)[lane] : b_.reg32(slot)[lane];
}

std::uint64_t Async::address(const AsyncAddress& a, int lane) const {
  std::uint64_t at = value(a.reg, a.wide, lane) + static_cast<std::uint64_t>(a.offset);
  if (!a.wide) at &= 0xFFFFFFFFu;
  // Shared addresses are offsets here, however they were given.
  if (a.space != Space::kGlobal && at - kSharedBase < kWindowBytes) at -= kSharedBase;
  if (a.space != Space::kGlobal &&
      at / kRankBytes == static_cast<std::uint64_t>(b_.cluster_rank_) + 1)
    at %= kRankBytes;
  return at;
}

bool Async::known_operands(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  for (const AsyncAddress* a : {&o.to, &o.from, &o.barrier, &o.map}) {
    const std::uint32_t t = b_.slot_taint(w, in, a->reg) & mask;
    if (t && !b_.tainted_value(w, in, t, "is used as an address")) return false;
  }
  std::uint32_t t = b_.slot_taint(w, in, o.size) | b_.slot_taint(w, in, o.ignore) |
                    b_.slot_taint(w, in, o.multicast);
  for (Slot s : o.coordinates) t |= b_.slot_taint(w, in, s);
  return (t & mask) == 0 ||
         b_.tainted_value(w, in, t & mask, "is used by an asynchronous instruction");
}

bool Async::fail(const Warp& w, const Inst& in, int lane, const std::string& what,
                 FindingKind kind) {
  b_.add_finding(b_.finding_at(kind, what, w, lane, &in), in.place, false);
  return false;
}

std::string Async::thread_name(int warp, int lane) const {
  const std::uint32_t t = static_cast<std::uint32_t>(warp) * 32 + static_cast<std::uint32_t>(lane);
  const auto& b = b_.run_.launch->block;
  return fmt::format("thread ({},{},{})", t % b[0], t / b[0] % b[1], t / b[0] / b[1]);
}

const char* Async::copy_name(const BulkLoad& l) {
  if (static_cast<AsyncOp>(l.inst->sub) != AsyncOp::kAsyncStore) return "a bulk copy";
  return l.reduce ? "a red.async" : "a st.async";
}

bool Async::in_shared(std::uint64_t offset, std::uint64_t bytes) const {
  return offset <= b_.run_.shared_bytes && bytes <= b_.run_.shared_bytes - offset;
}

bool Async::claim(Warp& w, const Inst& in, int lane, std::uint64_t to, std::uint32_t bytes) {
  if (b_.check_races_ || b_.check_init_) {
    const int shift = b_.shadow_.shift();
    for (std::uint64_t g = to >> shift; g < (to + bytes) >> shift; ++g) {
      if (b_.check_races_) {
        Cell& cell = b_.shadow_.cell(g);
        const Cell before = cell;
        if (note_write(b_.clocks_, cell, w.index, lane, false, false) &&
            !b_.fail_race(w, in, lane, g << shift, before))
          return false;
        if (b_.shadow_.keeps_sites()) b_.shadow_.sites(g).writer = in.place;
        cell.writer = {kNever, kAsyncAgent, kManyLanes, 0};
      }
      if (b_.check_init_) b_.shadow_.written()[g] = 0;
    }
  }
  std::memset(b_.shared_.data() + to, 0xFF, bytes);
  return true;
}

void Async::settle(std::uint64_t to, const std::uint8_t* data, std::uint32_t bytes,
                   const Stamp& stamp, bool unknown) {
  std::memcpy(b_.shared_.data() + to, data, bytes);
  if (!b_.check_races_ && !b_.check_init_) return;
  const int shift = b_.shadow_.shift();
  for (std::uint64_t g = to >> shift; g < (to + bytes) >> shift; ++g) {
    if (b_.check_races_) b_.shadow_.cell(g).writer = stamp;
    if (b_.check_init_) b_.shadow_.written()[g] = !unknown;
  }
}

bool Async::read_global(std::uint64_t from, std::uint8_t* to, std::uint64_t bytes, bool& unknown,
                        std::uint64_t& bad) {
  b_.land_all_late();
  Span& span = b_.span_;
  while (bytes > 0) {
    if (!span.holds(from, 1) && !b_.run_.memory->span(from, 1, span)) {
      span = Span{};
      bad = from;
      return false;
    }
    const std::uint64_t at = from - span.lo;
    const std::uint64_t n = std::min(bytes, span.bytes - at);
    std::memcpy(to, span.data + at, n);
    if (b_.check_init_ && span.page->written)
      for (std::uint64_t i = 0; i < n && !unknown; ++i)
        unknown = !bits_all_set(span.page->written.get(), at + i, 1);
    from += n;
    to += n;
    bytes -= n;
  }
  return true;
}

bool Async::conflict(const char* what, std::uint64_t offset, const Stamp* writer, const Warp& w,
                     const Inst& in, int lane, bool& ok, Block* by) {
  Block& block = by ? *by : b_;
  const auto inside = [&](std::uint64_t to, std::uint64_t bytes) {
    return offset + 4 > to && offset < to + bytes;  // a granule has at most four bytes
  };
  std::string where = b_.describe(kSharedBase + offset);
  if (by && by != &b_) where += fmt::format(" in block {} of the cluster", b_.cluster_rank_);
  const auto report = [&](FindingKind kind, std::string text, const Inst* other = nullptr) {
    Finding f = block.finding_at(kind, std::move(text), w, lane, &in);
    f.address = where;
    if (other) f.other_place = b_.code_place(other->place);
    ok = block.add_finding(std::move(f), in.place, in.kind != Kind::kAsync);
    return true;
  };
  for (std::size_t k = 0; k < warps_.size(); ++k) {
    for (const Copy& c : warps_[k].copies) {
      for (std::uint32_t m = c.lanes; m; m &= m - 1) {
        const int by = std::countr_zero(m);
        if (!inside(c.to[by], c.bytes)) continue;
        const bool committed = c.group[by] < warps_[k].group[by];
        return report(
            FindingKind::kAsync,
            fmt::format(
                "cp.async used before its wait: {} of {} while the copy that {} started at "
                "line {} is in flight ({})",
                what, where, thread_name(static_cast<int>(k), by), c.inst->line,
                committed ? "its group has not been waited for" : "it is in no committed group"),
            c.inst);
      }
    }
  }
  for (const auto& [at, m] : barriers_) {
    for (const BulkLoad& l : m.loads) {
      if (!inside(l.to, l.data.size())) continue;
      std::string who = thread_name(l.warp, l.lane);
      if (l.by != this) who += fmt::format(" of block {}", l.by->b_.cluster_rank_);
      return report(
          FindingKind::kAsync,
          fmt::format("{} used before its wait: {} of {} while the copy that {} started at line {} "
                      "is in flight (the mbarrier at {} has not been waited for)",
                      copy_name(l) + 2, what, where, who, l.inst->line,
                      b_.describe(kSharedBase + at)));
    }
    if (inside(at, 8))
      return report(FindingKind::kMBarrier,
                    fmt::format("plain {} of the mbarrier at {} (made at line {})", what,
                                b_.describe(kSharedBase + at), m.line));
  }
  for (std::size_t k = 0; k < warps_.size(); ++k) {
    for (const BulkStore& s : warps_[k].stores) {
      if (!inside(s.from, s.data.size())) continue;
      return report(FindingKind::kAsync,
                    fmt::format("{} of {} while the bulk copy that {} started at line {} may still "
                                "read it (no cp.async.bulk.wait_group)",
                                what, where, thread_name(s.warp, s.lane), s.inst->line),
                    s.inst);
    }
  }
  for (const Block* other : b_.cluster_) {
    if (!other->async_) continue;
    for (const auto& [at, m] : other->async_->barriers_)
      for (const BulkLoad& l : m.loads)
        if (l.by == this && l.shares && inside(l.shared_from, l.data.size()))
          return report(FindingKind::kAsync,
                        fmt::format("{} of {} while the bulk copy that {} started at line {} may "
                                    "still read it (its mbarrier has not been waited for)",
                                    what, where, thread_name(l.warp, l.lane), l.inst->line),
                        l.inst);
  }
  if (!writer || writer->warp != kAsyncAgent ||
      (&block == &b_ && !unordered(b_.clocks_, *writer, w.index, lane)))
    return false;
  return report(FindingKind::kAsync,
                fmt::format("{} of {} without waiting for the mbarrier of the asynchronous copy "
                            "that wrote it",
                            what, where));
}

}  // namespace hone::emulator
