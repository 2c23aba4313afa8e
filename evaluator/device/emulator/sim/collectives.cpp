// shfl, vote, match, redux, elect: what the lanes of a warp do together.
#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

Block::Step Block::shuffle(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  if (!gather_lanes(w, reg32(in.e)[std::countr_zero(mask)], step)) return step;
  if (!in.guarded) mask = w.stack.back().mask;
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
    if (!(mask >> from & 1) || (taint >> from & 1)) unknown |= 1u << lane;
  }
  if (in.d != kNone) {
    auto* d = reg32(in.d);
    for (std::uint32_t m = mask; m; m &= m - 1) d[std::countr_zero(m)] = value[std::countr_zero(m)];
  }
  if (in.d2 != kNone) *reg32(in.d2) = (*reg32(in.d2) & ~mask) | (in_range & mask);
  if (check_init_ && (w.tainting || (unknown & mask))) {
    w.tainting = true;
    set_taint(w, in, mask, unknown & mask);
  }
  return Step::kNext;
}

Block::Step Block::vote(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  const std::uint32_t members = reg32(in.e)[std::countr_zero(mask)];
  if (!gather_lanes(w, members, step)) return step;
  if (!in.guarded) mask = w.stack.back().mask;
  if (check_races_) clocks_.warp_sync(w.index);
  const std::uint32_t who = members & mask;
  const std::uint32_t yes = *reg32(in.a) & who;
  bool result = false;
  switch (static_cast<VoteMode>(in.sub)) {
    case VoteMode::kBallot: {
      auto* d = reg32(in.d);
      for (std::uint32_t m = mask; m; m &= m - 1) d[std::countr_zero(m)] = yes;
      if (w.tainting) propagate_taint(w, in, mask);
      return Step::kNext;
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
  *reg32(in.d) = (*reg32(in.d) & ~mask) | (result ? mask : 0);
  if (w.tainting) {
    const std::uint32_t taint = slot_taint(w, in, in.a) & who;
    set_taint(w, in, mask, taint ? mask : 0);
  }
  return Step::kNext;
}

Block::Step Block::match(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  const std::uint32_t members = reg32(in.e)[std::countr_zero(mask)];
  if (!gather_lanes(w, members, step)) return step;
  if (!in.guarded) mask = w.stack.back().mask;
  if (check_races_) clocks_.warp_sync(w.index);
  const std::uint32_t who = members & mask;
  const auto value = [&](int lane) {
    return in.addr_wide ? reg64(in.a)[lane] : static_cast<std::uint64_t>(reg32(in.a)[lane]);
  };
  std::uint32_t result[32] = {};
  bool all = true;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    for (std::uint32_t k = who; k; k &= k - 1)
      if (value(std::countr_zero(k)) == value(lane)) result[lane] |= 1u << std::countr_zero(k);
    all = all && result[lane] == who;
  }
  auto* d = reg32(in.d);
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    d[lane] = in.sub ? (all ? who : 0) : result[lane];
  }
  if (in.d2 != kNone) *reg32(in.d2) = (*reg32(in.d2) & ~mask) | (all ? mask : 0);
  if (w.tainting) propagate_taint(w, in, mask);
  return Step::kNext;
}

Block::Step Block::reduce(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  const std::uint32_t members = reg32(in.e)[std::countr_zero(mask)];
  if (!gather_lanes(w, members, step)) return step;
  if (!in.guarded) mask = w.stack.back().mask;
  if (check_races_) clocks_.warp_sync(w.index);
  const auto* a = reg32(in.a);
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
  auto* d = reg32(in.d);
  for (std::uint32_t m = mask; m; m &= m - 1) d[std::countr_zero(m)] = r;
  if (w.tainting) {
    const std::uint32_t taint = slot_taint(w, in, in.a) & members & mask;
    set_taint(w, in, mask, taint ? mask : 0);
  }
  return Step::kNext;
}

Block::Step Block::elect(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  const std::uint32_t members = reg32(in.e)[std::countr_zero(mask)];
  if (!gather_lanes(w, members, step)) return step;
  if (!in.guarded) mask = w.stack.back().mask;
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(members & mask));
  if (in.d != kNone) {
    auto* d = reg32(in.d);
    for (std::uint32_t m = mask; m; m &= m - 1) d[std::countr_zero(m)] = leader;
  }
  if (in.d2 != kNone) *reg32(in.d2) = (*reg32(in.d2) & ~mask) | (mask & (1u << leader));
  return Step::kNext;
}

}  // namespace hone::emulator
