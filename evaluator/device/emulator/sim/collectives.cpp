// shfl, vote, match, redux, elect: what the lanes of a warp do together.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {
namespace {

/// Tiles of a warp may execute one instruction together, each with a mask of its own.
/// each(members, lanes): the lanes with the same mask, one set after another.
template <class Each>
void for_each_set(const std::uint32_t* members, std::uint32_t mask, Each&& each) {
  while (mask) {
    const std::uint32_t named = members[std::countr_zero(mask)];
    std::uint32_t lanes = 0;
    for (std::uint32_t m = mask; m; m &= m - 1)
      if (members[std::countr_zero(m)] == named) lanes |= 1u << std::countr_zero(m);
    mask &= ~lanes;
    each(named, lanes);
  }
}

}  // namespace

Block::Step Block::shuffle(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  if (!gather_lanes(w, reg32(in.e)[std::countr_zero(mask)], step)) return step;
  if (!in.guarded) mask = w.stack.back().mask;
  const auto* members = reg32(in.e);
  if (check_races_) clocks_.warp_sync(w.index);
  const auto* a = reg32(in.a);
  const auto* b = reg32(in.b);
  const auto* c = reg32(in.c);
  const std::uint32_t taint = w.tainting ? slot_taint(w, in, in.a) : 0;
  std::uint32_t value[32];
  std::uint32_t in_range = 0;
  std::uint32_t unknown = 0;
  for (int lane = 0; lane < 32; ++lane) {
    // PTX ISA, shfl.sync
    const int bval = static_cast<int>(b[lane] & 0x1F);
    const int cval = static_cast<int>(c[lane] & 0x1F);
    const int segment = static_cast<int>((c[lane] >> 8) & 0x1F);
    const int top = (lane & segment) | (cval & ~segment);
    const int bottom = lane & segment;
    int from = lane;
    bool ok = false;
    switch (static_cast<ShuffleMode>(in.sub)) {
      case ShuffleMode::kUp:
        from = lane - bval;
        ok = from >= top;
        break;
      case ShuffleMode::kDown:
        from = lane + bval;
        ok = from <= top;
        break;
      case ShuffleMode::kBfly:
        from = lane ^ bval;
        ok = from <= top;
        break;
      case ShuffleMode::kIdx:
        from = bottom | (bval & ~segment);
        ok = from <= top;
        break;
    }
    if (!ok) from = lane;
    value[lane] = a[from];
    in_range |= static_cast<std::uint32_t>(ok) << lane;
    // The register of a lane that is not here has no defined value.
    if (!(mask & members[lane] & (1u << from)) || (taint >> from & 1)) unknown |= 1u << lane;
  }
  if (in.d != kNone) {
    auto* d = reg32(in.d);
    for (std::uint32_t m = mask; m; m &= m - 1) d[std::countr_zero(m)] = value[std::countr_zero(m)];
  }
  if (in.d2 != kNone) *reg32(in.d2) = (*reg32(in.d2) & ~mask) | (in_range & mask);
  if (check_init_ && (w.tainting || (unknown & mask))) {
    w.tainting = true;
    if (unknown & mask & ~taint) {  // not only passed on
      uninitialised_ =
          fmt::format("an inactive lane's register (read by the shuffle at line {})", in.line);
      uninitialised_global_ = false;
    }
    set_taint(w, in, mask, unknown & mask);
    // Whether there was a source does not depend on what it held.
    if (in.d2 != kNone) taint_slot(w, in.d2, 0, mask);
  }
  return Step::kNext;
}

Block::Step Block::vote(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  if (!gather_lanes(w, reg32(in.e)[std::countr_zero(mask)], step)) return step;
  if (!in.guarded) mask = w.stack.back().mask;
  if (check_races_) clocks_.warp_sync(w.index);
  const std::uint32_t votes = *reg32(in.a);
  const std::uint32_t unknown = w.tainting ? slot_taint(w, in, in.a) : 0;
  std::uint32_t results = 0;
  std::uint32_t taint = 0;
  for_each_set(reg32(in.e), mask, [&](std::uint32_t members, std::uint32_t lanes) {
    const std::uint32_t who = members & mask;
    const std::uint32_t yes = votes & who;
    if (unknown & who) taint |= lanes;
    bool result = false;
    switch (static_cast<VoteMode>(in.sub)) {
      case VoteMode::kBallot: {
        auto* d = reg32(in.d);
        for (std::uint32_t m = lanes; m; m &= m - 1) d[std::countr_zero(m)] = yes;
        return;
      }
      case VoteMode::kAll:
        result = yes == who;
        break;
      case VoteMode::kAny:
        result = yes != 0;
        break;
      case VoteMode::kUni:
        result = yes == 0 || yes == who;
        break;
    }
    if (result) results |= lanes;
  });
  if (static_cast<VoteMode>(in.sub) != VoteMode::kBallot)
    *reg32(in.d) = (*reg32(in.d) & ~mask) | results;
  if (w.tainting) set_taint(w, in, mask, taint);
  return Step::kNext;
}

Block::Step Block::match(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  if (!gather_lanes(w, reg32(in.e)[std::countr_zero(mask)], step)) return step;
  if (!in.guarded) mask = w.stack.back().mask;
  if (check_races_) clocks_.warp_sync(w.index);
  const auto value = [&](int lane) {
    return in.addr_wide ? reg64(in.a)[lane] : static_cast<std::uint64_t>(reg32(in.a)[lane]);
  };
  std::uint32_t result[32] = {};
  std::uint32_t agree = 0;
  for_each_set(reg32(in.e), mask, [&](std::uint32_t members, std::uint32_t lanes) {
    const std::uint32_t who = members & mask;
    bool all = true;
    for (std::uint32_t m = lanes; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      for (std::uint32_t k = who; k; k &= k - 1)
        if (value(std::countr_zero(k)) == value(lane)) result[lane] |= 1u << std::countr_zero(k);
      all = all && result[lane] == who;
      if (counting_) run_.counters.match_values += std::countr_zero(result[lane]) == lane;
    }
    if (all) agree |= lanes;
    if (!in.sub) return;
    for (std::uint32_t m = lanes; m; m &= m - 1) result[std::countr_zero(m)] = all ? who : 0;
  });
  auto* d = reg32(in.d);
  for (std::uint32_t m = mask; m; m &= m - 1) d[std::countr_zero(m)] = result[std::countr_zero(m)];
  if (in.d2 != kNone) *reg32(in.d2) = (*reg32(in.d2) & ~mask) | agree;
  if (w.tainting) propagate_taint(w, in, mask);
  return Step::kNext;
}

Block::Step Block::reduce(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  if (!gather_lanes(w, reg32(in.e)[std::countr_zero(mask)], step)) return step;
  if (!in.guarded) mask = w.stack.back().mask;
  if (check_races_) clocks_.warp_sync(w.index);
  const auto* a = reg32(in.a);
  const std::uint32_t unknown = w.tainting ? slot_taint(w, in, in.a) : 0;
  std::uint32_t result[32] = {};
  std::uint32_t taint = 0;
  for_each_set(reg32(in.e), mask, [&](std::uint32_t members, std::uint32_t lanes) {
    std::uint32_t r = 0;
    bool first = true;
    for (std::uint32_t m = members & mask; m; m &= m - 1) {
      const std::uint32_t v = a[std::countr_zero(m)];
      if (first) {
        r = v;
        first = false;
        continue;
      }
      const auto sr = static_cast<std::int32_t>(r);
      const auto sv = static_cast<std::int32_t>(v);
      switch (static_cast<AtomicOp>(in.sub)) {
        case AtomicOp::kAdd:
          r += v;
          break;
        case AtomicOp::kMin:
          r = in.sign_extend ? static_cast<std::uint32_t>(std::min(sr, sv)) : std::min(r, v);
          break;
        case AtomicOp::kMax:
          r = in.sign_extend ? static_cast<std::uint32_t>(std::max(sr, sv)) : std::max(r, v);
          break;
        case AtomicOp::kAnd:
          r &= v;
          break;
        case AtomicOp::kOr:
          r |= v;
          break;
        default:
          r ^= v;
          break;
      }
    }
    if (unknown & members & mask) taint |= lanes;
    for (std::uint32_t m = lanes; m; m &= m - 1) result[std::countr_zero(m)] = r;
  });
  auto* d = reg32(in.d);  // may be the source
  for (std::uint32_t m = mask; m; m &= m - 1) d[std::countr_zero(m)] = result[std::countr_zero(m)];
  if (w.tainting) set_taint(w, in, mask, taint);
  return Step::kNext;
}

Block::Step Block::elect(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  if (!gather_lanes(w, reg32(in.e)[std::countr_zero(mask)], step)) return step;
  if (!in.guarded) mask = w.stack.back().mask;
  std::uint32_t leader[32] = {};
  std::uint32_t elected = 0;
  for_each_set(reg32(in.e), mask, [&](std::uint32_t members, std::uint32_t lanes) {
    const auto first = static_cast<std::uint32_t>(std::countr_zero(members & mask));
    elected |= lanes & (1u << first);
    for (std::uint32_t m = lanes; m; m &= m - 1) leader[std::countr_zero(m)] = first;
  });
  if (in.d != kNone) {
    auto* d = reg32(in.d);
    for (std::uint32_t m = mask; m; m &= m - 1)
      d[std::countr_zero(m)] = leader[std::countr_zero(m)];
  }
  if (in.d2 != kNone) *reg32(in.d2) = (*reg32(in.d2) & ~mask) | elected;
  if (w.tainting) set_taint(w, in, mask, 0);
  return Step::kNext;
}

}  // namespace hone::emulator
