// cp.async: each lane copies 4, 8 or 16 bytes from global to shared memory. It lands at the wait.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/async.h"

namespace hone::emulator {

Block::Step Async::copy(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  PerWarp& mine = of(w);
  mine.copies.emplace_back();
  Copy& c = mine.copies.back();
  c.inst = &in;
  c.sequence = mine.sequence++;
  c.bytes = in.esize;
  const std::uint32_t skip = o.ignore == kNone ? 0 : *b_.reg32(o.ignore);
  std::uint32_t reading = 0;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t to = c.to[lane] = address(o.to, lane);
    const std::uint64_t from = c.from[lane] = address(o.from, lane);
    const std::uint64_t read =
        o.size == kNone ? (skip >> lane & 1 ? 0 : in.esize) : value(o.size, false, lane);
    const auto wrong = [&](FindingKind kind, const std::string& what) {
      fail(w, in, lane, what, kind);
      return Step::kFail;
    };
    if (read > in.esize)
      return wrong(FindingKind::kAsync,
                   fmt::format("cp.async of {} B is told to read {} B", in.esize, read));
    if (to & (in.esize - 1u))
      return wrong(FindingKind::kMisaligned, fmt::format("misaligned cp.async write of {} B at {}",
                                                         in.esize, b_.describe(kSharedBase + to)));
    if (!in_shared(to, in.esize))
      return wrong(FindingKind::kOutOfBounds,
                   fmt::format("out-of-bounds cp.async write of {} B at {}", in.esize,
                               b_.describe(kSharedBase + to)));
    c.read[lane] = static_cast<std::uint8_t>(read);
    c.group[lane] = mine.group[lane];
    if (read > 0) {
      if (from & (in.esize - 1u))
        return wrong(FindingKind::kMisaligned, fmt::format("misaligned cp.async read of {} B at {}",
                                                           in.esize, b_.describe(from)));
      if (b_.window(from) != Space::kGlobal)
        return wrong(
            FindingKind::kOutOfBounds,
            fmt::format("cp.async reads {}, which is not global memory", b_.describe(from)));
      bool unknown = false;
      std::uint64_t bad = 0;
      if (!read_global(from, c.data[lane], read, unknown, bad))
        return wrong(
            FindingKind::kOutOfBounds,
            fmt::format("out-of-bounds cp.async read of {} B at {}", read, b_.describe(from)));
      if (b_.tracking_ != Tracking::kOff &&
          !b_.note_global_bytes(w, in, lane, from, read, Touch::kRead, nullptr))
        return Step::kFail;
      if (unknown) c.unknown |= 1u << lane;
      reading |= 1u << lane;
    }
    if (!claim(w, in, lane, to, in.esize)) return Step::kFail;
    c.lanes |= 1u << lane;
  }
  if (b_.counting_) {
    if (reading) {
      const std::uint64_t some = c.from[std::countr_zero(reading)];
      for (int lane = 0; lane < 32; ++lane)
        b_.address_[lane] = reading >> lane & 1 ? c.from[lane] : some;
      b_.pattern(in, reading);
      b_.count_global(w, in, false);
    }
    const std::uint64_t some = c.to[std::countr_zero(mask)];
    for (int lane = 0; lane < 32; ++lane) b_.address_[lane] = mask >> lane & 1 ? c.to[lane] : some;
    ++b_.run_.counters.shared_stores;
    b_.run_.counters.shared_wavefronts += b_.bank_cycles(in, mask);
    c.due = due_of(w, b_.access_latency_);
  }
  return Step::kNext;
}

Block::Step Async::commit(Warp& w, std::uint32_t mask) {
  PerWarp& mine = of(w);
  for (std::uint32_t m = mask; m; m &= m - 1) ++mine.group[std::countr_zero(m)];
  return Step::kNext;
}

bool Async::land(Warp& owner, Copy& c, std::uint32_t lanes, bool through_mbarrier) {
  for (std::uint32_t m = lanes & c.lanes; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    c.lanes &= ~(1u << lane);
    if (b_.check_races_ && c.read[lane] > 0) {
      std::uint8_t now[16];
      bool unknown = false;
      std::uint64_t bad = 0;
      if (read_global(c.from[lane], now, c.read[lane], unknown, bad) &&
          std::memcmp(now, c.data[lane], c.read[lane]) != 0)
        return fail(owner, *c.inst, lane,
                    fmt::format("race: {} was written while a cp.async that reads it was in flight",
                                b_.describe(c.from[lane])),
                    FindingKind::kRace);
    }
    Stamp stamp{b_.clocks_.tick(owner.index), static_cast<std::uint8_t>(owner.index),
                static_cast<std::uint8_t>(lane), 0};
    if (through_mbarrier) stamp = {b_.clocks_.tick(kAsyncAgent), kAsyncAgent, kManyLanes, 0};
    settle(c.to[lane], c.data[lane], c.bytes, stamp, c.unknown >> lane & 1);
  }
  return true;
}

Block::Step Async::wait(Warp& w, const Inst& in, std::uint32_t mask, bool all) {
  PerWarp& mine = of(w);
  if (all) commit(w, mask);
  const auto keep = all ? 0u : static_cast<std::uint32_t>(in.imm);
  for (Copy& c : mine.copies) {
    std::uint32_t lanes = 0;
    for (std::uint32_t m = mask & c.lanes; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (c.group[lane] + std::uint64_t{keep} < mine.group[lane]) lanes |= 1u << lane;
    }
    if (!lanes) continue;
    if (!land(w, c, lanes, false)) return Step::kFail;
    if (b_.counting_) w.wait_until(c.due);
  }
  std::erase_if(mine.copies, [](const Copy& c) { return c.lanes == 0; });
  return Step::kNext;
}

Block::Step Async::arrive_on_copies(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  PerWarp& mine = of(w);
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    MBarrier* barrier = find(w, in, o.barrier, lane);
    if (!barrier) return Step::kFail;
    if (!o.no_increment) ++barrier->pending;
    if (!barrier->copies.empty()) {
      CopyArrival& last = barrier->copies.back();
      if (last.warp == w.index && last.before == mine.sequence && !(last.lanes >> lane & 1)) {
        last.lanes |= 1u << lane;
        continue;
      }
    }
    barrier->copies.push_back({w.index, 1u << lane, mine.sequence, &in});
  }
  note_progress();
  return Step::kNext;
}

}  // namespace hone::emulator
