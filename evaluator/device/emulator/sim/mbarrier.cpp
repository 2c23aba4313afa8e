// mbarrier objects: phases, arrivals, transactions, and the threads that wait for them. An object
// is kept beside shared memory; the bytes it occupies belong to nobody else until it is
// invalidated.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/opaque.h"

namespace hone::emulator {
namespace {
constexpr std::uint32_t kMaxCount = (1u << 20) - 1;  // PTX ISA: of arrivals, and of transactions
constexpr int kGiveUp = 200;                         // rounds in which nobody could go on
constexpr int kClusterGiveUp = 3;           // before other blocks of the cluster get their turn
constexpr std::uint32_t kPhaseCycles = 20;  // from the last arrival to the waiters
}  // namespace

std::string Async::describe(std::uint64_t at, const MBarrier& m) const {
  return fmt::format("the mbarrier at {} (made at line {})", b_.describe(kSharedBase + at), m.line);
}

void Async::note_progress() {
  stuck_ = 0;
  ++b_.run_.changes;
  for (Warp& w : b_.warps_)
    if (w.barrier == kAtMBarrier) w.barrier = -1;
}

Async::MBarrier* Async::find(Warp& w, const Inst& in, const AsyncAddress& a, int lane) {
  const std::uint64_t at = address(a, lane);
  return own(w, in, lane, at) ? find_at(*this, w, in, lane, at) : nullptr;
}

Async::MBarrier* Async::find_at(Async& by, Warp& w, const Inst& in, int lane, std::uint64_t at) {
  const auto it = barriers_.find(at);
  if ((at & 7) != 0 || !in_shared(at, 8) || it == barriers_.end()) {
    std::string where = b_.describe(kSharedBase + at);
    if (&by != this) where += fmt::format(" in block {} of the cluster", b_.cluster_rank_);
    by.fail(w, in, lane,
            (at & 7) != 0 ? fmt::format("misaligned mbarrier at {}", where)
            : !in_shared(at, 8)
                ? fmt::format("out-of-bounds mbarrier at {}", where)
                : fmt::format("use of an mbarrier at {} that was not initialised", where));
    return nullptr;
  }
  MBarrier& m = it->second;
  const bool early = b_.check_races_ &&
                     (&by == this ? unordered(b_.clocks_, m.made, w.index, lane)
                                  : !b_.clocks_.fenced(m.made.warp, m.made.tick) &&
                                        !by.order_.knows(by.b_.clocks_, w.index,
                                                         static_cast<std::size_t>(b_.cluster_rank_),
                                                         m.made.warp, m.made.tick));
  if (early) {
    by.fail(w, in, lane,
            fmt::format("race: use of {} without a barrier after its init by {}{}", describe(at, m),
                        thread_name(m.made.warp, m.made.lane),
                        &by == this ? "" : fmt::format(" of block {}", b_.cluster_rank_)),
            FindingKind::kRace);
    return nullptr;
  }
  return &m;
}

bool Async::place_object(Warp& w, const Inst& in, int lane, std::uint64_t at, bool live) {
  if (!b_.check_races_ && !b_.check_init_) return true;
  const int shift = b_.shadow_.shift();
  for (std::uint64_t g = at >> shift; g < (at + 8) >> shift; ++g) {
    if (b_.check_races_) {
      Cell& cell = b_.shadow_.cell(g);
      const Cell before = cell;
      if (live && note_write(b_.clocks_, cell, w.index, lane, false, false) &&
          !b_.fail_race(w, in, lane, g << shift, before))
        return false;
      cell.writer = live ? Stamp{kNever, kObjectAgent, kManyLanes, 0}
                         : Stamp{b_.clocks_.tick(w.index), static_cast<std::uint8_t>(w.index),
                                 static_cast<std::uint8_t>(lane), 0};
    }
    if (b_.check_init_) b_.shadow_.written()[g] = live;
  }
  return true;
}

Block::Step Async::barrier_init(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  const bool init = static_cast<AsyncOp>(in.sub) == AsyncOp::kBarrierInit;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t at = address(o.barrier, lane);
    if (!init) {
      const MBarrier* old = find(w, in, o.barrier, lane);
      if (!old) return Step::kFail;
      if (!old->loads.empty() || !old->copies.empty()) {
        fail(w, in, lane,
             fmt::format("mbarrier.inval of {} while copies that complete it are in flight",
                         describe(at, *old)));
        return Step::kFail;
      }
      barriers_.erase(at);
      if (!place_object(w, in, lane, at, false)) return Step::kFail;
      continue;
    }
    const std::uint32_t count = b_.reg32(o.size)[lane];
    std::string wrong;
    const std::string where = b_.describe(kSharedBase + at);
    if (at & 7)
      wrong = fmt::format("misaligned mbarrier at {}", where);
    else if (!in_shared(at, 8))
      wrong = fmt::format("out-of-bounds mbarrier at {}", where);
    else if (count == 0 || count > kMaxCount)
      wrong = fmt::format("mbarrier.init with a count of {} (1 to {})", count, kMaxCount);
    else if (const auto it = barriers_.find(at); it != barriers_.end())
      wrong = fmt::format("mbarrier.init over {} without mbarrier.inval", describe(at, it->second));
    if (!wrong.empty()) {
      fail(w, in, lane, wrong);
      return Step::kFail;
    }
    if (!place_object(w, in, lane, at, true)) return Step::kFail;
    MBarrier& fresh = barriers_[at];
    fresh.expected = fresh.pending = count;
    fresh.line = in.line;
    fresh.made = {b_.clocks_.tick(w.index), static_cast<std::uint8_t>(w.index),
                  static_cast<std::uint8_t>(lane), 0};
  }
  return Step::kNext;
}

void Async::complete_if_done(MBarrier& m) {
  if (m.pending != 0 || m.transactions != 0) return;
  ++m.phase;
  m.pending = m.expected;
  m.completed = m.arriving;
  m.foreign_completed = m.foreign_arriving;
  m.due = m.arrived.after(kPhaseCycles);
  note_progress();
}

void Async::publish(Async& by, const Warp& w, MBarrier& m) {
  if (&by == this) {
    b_.clocks_.release(w.index, m.arriving);
    return;
  }
  // Also what it knows of this block, and of the others.
  ForeignTicks known = by.order_.known(by.b_.clocks_, w.index);
  const auto rank = static_cast<std::size_t>(b_.cluster_rank_);
  if (rank < known.size())
    for (std::size_t k = 0; k < kAgents; ++k)
      m.arriving[k] = std::max(m.arriving[k], known[rank][k]);
  ClockView own{};
  by.b_.clocks_.release(w.index, own);
  known.resize(b_.cluster_.size());
  join_ticks(known[static_cast<std::size_t>(by.b_.cluster_rank_)], ticks_of(own));
  join_ticks(m.foreign_arriving, known);
}

bool Async::arrive(Async& by, Warp& w, const Inst& in, int lane, std::uint64_t at, MBarrier& m,
                   std::uint32_t count) {
  const AsyncOperands& o = by.operands(in);
  by.b_.show_late_to_block(w);
  if (count > m.pending && !settle(m)) return false;
  if (count == 0 || count > m.pending)
    return by.fail(w, in, lane,
                   fmt::format("{} arrivals at {}, where {} of {} are expected in this phase",
                               count, describe(at, m), m.pending, m.expected));
  if (o.no_complete && count == m.pending && m.transactions == 0)
    return by.fail(
        w, in, lane,
        fmt::format("mbarrier.arrive.noComplete completes a phase of {}", describe(at, m)));
  if (by.b_.cluster_.size() > 1) by.b_.land_all_late();
  if (by.b_.orders_cluster()) by.b_.global_order_.release_to_cluster(w.index);
  if (b_.check_races_) publish(by, w, m);
  m.pending -= count;
  if (o.drop) m.expected -= std::min(count, m.expected);
  m.arrived.not_before(w.moment());
  complete_if_done(m);  // which wakes those that wait for the phase: nobody else can go on
  stuck_ = 0;
  ++b_.run_.changes;
  return true;
}

bool Async::add_transactions(Async& by, Warp& w, const Inst& in, int lane, std::uint64_t at,
                             MBarrier& m, std::int64_t bytes) {
  m.transactions += bytes;
  if (m.transactions > kMaxCount || m.transactions < -std::int64_t{kMaxCount})
    return by.fail(w, in, lane,
                   fmt::format("{} has {} B of transactions pending, the limit is {}",
                               describe(at, m), m.transactions, kMaxCount));
  return true;
}

Block::Step Async::barrier_arrive(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  const bool plain = o.size == kNone && !o.expect && !o.drop && !o.no_complete;
  for (std::uint32_t k = mask; k; k &= k - 1) {
    const int lane = std::countr_zero(k);
    std::uint64_t at = address(o.barrier, lane);
    // Lanes that arrive at one mbarrier do so together, as long as it expects them all.
    std::uint32_t same = 1u << lane;
    if (plain)
      for (std::uint32_t others = k & (k - 1); others; others &= others - 1)
        if (address(o.barrier, std::countr_zero(others)) == at) same |= others & -others;
    Async* const there = home(w, in, lane, at);
    MBarrier* m = there ? there->find_at(*this, w, in, lane, at) : nullptr;
    if (!m) return Step::kFail;
    const auto count = count_bits(same);
    if (count > 1 && count <= m->pending) {
      std::uint64_t state = std::uint64_t{m->phase} << 32 | m->pending;
      if (!there->arrive(*this, w, in, lane, at, *m, count)) return Step::kFail;
      for (std::uint32_t all = same; all && in.d != kNone; all &= all - 1)
        b_.reg64(in.d)[std::countr_zero(all)] = scrambled(state--);
      k &= ~same | 1u << lane;
      continue;
    }
    const std::uint32_t operand = o.size == kNone ? 1 : b_.reg32(o.size)[lane];
    if (o.expect && !there->add_transactions(*this, w, in, lane, at, *m, operand))
      return Step::kFail;
    const std::uint64_t state = std::uint64_t{m->phase} << 32 | m->pending;
    if (!there->arrive(*this, w, in, lane, at, *m, o.expect ? 1 : operand)) return Step::kFail;
    if (in.d != kNone) b_.reg64(in.d)[lane] = scrambled(state);
  }
  if (w.tainting) b_.set_taint(w, in, mask, 0);
  return Step::kNext;
}

Block::Step Async::barrier_transactions(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  const bool expect = static_cast<AsyncOp>(in.sub) == AsyncOp::kBarrierExpect;
  for (std::uint32_t k = mask; k; k &= k - 1) {
    const int lane = std::countr_zero(k);
    std::uint64_t at = address(o.barrier, lane);
    Async* const there = home(w, in, lane, at);
    MBarrier* m = there ? there->find_at(*this, w, in, lane, at) : nullptr;
    if (!m) return Step::kFail;
    const std::int64_t bytes = b_.reg32(o.size)[lane];
    if (!there->add_transactions(*this, w, in, lane, at, *m, expect ? bytes : -bytes))
      return Step::kFail;
    if (!expect) there->complete_if_done(*m);
    there->note_progress();
  }
  return Step::kNext;
}

bool Async::settle(MBarrier& m) {
  const std::vector<CopyArrival> copies = std::move(m.copies);
  m.copies.clear();
  for (const CopyArrival& a : copies) {
    PerWarp& owner = warps_[a.warp];
    for (Copy& c : owner.copies) {
      if (c.sequence >= a.before) continue;
      if (!land(b_.warps_[a.warp], c, a.lanes, true)) return false;
      m.arrived.not_before(c.due);
    }
    std::erase_if(owner.copies, [](const Copy& c) { return c.lanes == 0; });
    const auto count = static_cast<std::uint32_t>(std::popcount(a.lanes));
    if (count > m.pending)
      return fail(b_.warps_[a.warp], *a.inst, std::countr_zero(a.lanes),
                  fmt::format("cp.async.mbarrier.arrive: {} arrivals at an mbarrier (made at "
                              "line {}) where {} of {} are expected in this phase",
                              count, m.line, m.pending, m.expected));
    if (b_.check_races_) b_.clocks_.release(kAsyncAgent, m.arriving);
    m.pending -= count;
    complete_if_done(m);
  }
  return settle_loads(m);
}

Block::Step Async::barrier_test(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  // Copies take their time, and a try_wait its own, at the end of which it says no.
  const bool too_soon = b_.seeded_ && !b_.run_.options->share_counters && b_.dice_.below(4) == 0;
  std::uint32_t done = 0;
  std::uint64_t asked = ~0ull, asked_for = 0;  // by the lane before
  bool answer = false;
  for (std::uint32_t k = mask; k; k &= k - 1) {
    const int lane = std::countr_zero(k);
    const std::uint64_t at = address(o.barrier, lane);
    const std::uint64_t phase =
        o.by_parity ? b_.reg32(o.size)[lane] & 1 : unscrambled(b_.reg64(o.size)[lane]) >> 32;
    if (at == asked && phase == asked_for) {
      done |= answer ? 1u << lane : 0;
      continue;
    }
    asked = at;
    asked_for = phase;
    answer = false;
    MBarrier* m = find(w, in, o.barrier, lane);
    if (!m) return Step::kFail;
    const auto complete = [&] {
      return o.by_parity ? (m->phase & 1) != phase : m->phase != static_cast<std::uint32_t>(phase);
    };
    if (!complete() && !too_soon && !settle(*m)) return Step::kFail;
    if (!complete()) continue;
    done |= 1u << lane;
    answer = true;
    if (b_.orders_cluster()) b_.global_order_.take_over_from_cluster(w.index);
    if (b_.check_races_) {
      b_.clocks_.acquire(w.index, m->completed);
      order_.learn(b_.clocks_, w.index, m->foreign_completed);
      if (!m->foreign_completed.empty()) b_.synchronised_in_cluster();
    }
    if (b_.counting_) w.wait_until(m->due);
  }
  PerWarp& mine = of(w);
  if (done == 0 && o.suspends && !too_soon) {
    // Others first: lanes of this warp, then other warps.
    const bool woken = mine.woken;
    mine.woken = false;
    if (woken ? b_.rotate(w, true) : mine.rotations < w.stack.size() && b_.rotate(w, false)) {
      ++mine.rotations;
      return Step::kYield;
    }
    mine.rotations = 0;
    if (!woken) {
      w.barrier = kAtMBarrier;
      w.barrier_inst = w.stack.back().pc;
      w.barrier_function = w.stack.back().function;
      return Step::kYield;
    }
  }
  mine.rotations = 0;
  if (done != mask && !too_soon) w.spinning = true;
  *b_.reg32(in.d) = (*b_.reg32(in.d) & ~mask) | done;
  if (w.tainting) b_.set_taint(w, in, mask, 0);
  return Step::kNext;
}

Async::Stuck Async::stuck() {
  const bool alone = b_.cluster_.size() <= 1;
  if (complete_cluster_barrier()) return Stuck::kWoken;
  Warp* first = nullptr;
  for (Warp& w : b_.warps_)
    if (!first && !w.done() && w.barrier == kAtMBarrier) first = &w;
  if (!first) {
    for (const Warp& w : b_.warps_)
      if (!w.done() && w.barrier == kAtClusterBarrier && !alone) return Stuck::kCluster;
    return Stuck::kNobody;
  }
  if (++stuck_ > (alone ? kGiveUp : kClusterGiveUp)) {
    if (!alone) return Stuck::kCluster;
    fail(*first, b_.module_.functions[first->barrier_function].code[first->barrier_inst],
         std::countr_zero(first->stack.back().mask), fmt::format("deadlock: {}", wait_text(*first)),
         FindingKind::kDeadlock);
    return Stuck::kFailed;
  }
  ++b_.run_.changes;  // not quiet yet
  for (Warp& w : b_.warps_) {
    if (w.barrier != kAtMBarrier) continue;
    w.barrier = -1;
    of(w).woken = true;
  }
  return Stuck::kWoken;
}

std::string Async::wait_text(const Warp& w) const {
  const Inst& in = b_.module_.functions[w.barrier_function].code[w.barrier_inst];
  const AsyncAddress& a = b_.module_.functions[w.barrier_function].async[in.extra].barrier;
  const int lane = std::countr_zero(w.stack.back().mask);
  const std::uint8_t* reg = a.reg >= 0
                                ? b_.warps_[w.index].frames.data() + w.stack.back().frame + a.reg
                                : b_.constants_ + ~a.reg;
  std::uint64_t at = a.wide ? reinterpret_cast<const std::uint64_t*>(reg)[lane]
                            : reinterpret_cast<const std::uint32_t*>(reg)[lane];
  at += static_cast<std::uint64_t>(a.offset);
  if (at - kSharedBase < kWindowBytes) at -= kSharedBase;
  at %= kRankBytes;
  const auto it = barriers_.find(at);
  if (it == barriers_.end()) return "a wait at an mbarrier";
  const MBarrier& m = it->second;
  std::string missing;
  if (m.pending > 0) missing = fmt::format("{} of {} arrivals", m.pending, m.expected);
  if (m.transactions != 0)
    missing += fmt::format("{}{} B of transactions{}", missing.empty() ? "" : " and ",
                           std::abs(m.transactions), m.transactions < 0 ? " too many" : "");
  return fmt::format("a wait at {} for a phase that nobody completes (outstanding: {})",
                     describe(at, m), missing.empty() ? "nothing" : missing);
}

std::optional<Finding> Async::waiting_for() const {
  for (const Warp& w : b_.warps_) {
    if (w.done() || (w.barrier != kAtMBarrier && w.barrier != kAtClusterBarrier)) continue;
    const Inst& in = b_.module_.functions[w.barrier_function].code[w.barrier_inst];
    const bool cluster = w.barrier == kAtClusterBarrier;
    return b_.finding_at(FindingKind::kDeadlock,
                         cluster ? "a wait at the barrier of the cluster" : wait_text(w), w,
                         std::countr_zero(w.stack.back().mask), &in);
  }
  return std::nullopt;
}

}  // namespace hone::emulator
