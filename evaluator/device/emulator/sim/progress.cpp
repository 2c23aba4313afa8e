// Lanes waiting for lanes: reconvergence given up for progress, warp-wide instructions, barriers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

bool Block::exit_waiting(Warp& w) {
  // Follows plain jumps only: an early return that the compiler merged with the others.
  const auto leaves = [&](const Entry& e) {
    const auto& code = module_.functions[e.function].code;
    std::int32_t pc = e.pc;
    for (int step = 0; step < 8; ++step) {
      const Inst& in = code[pc];
      if (in.guarded) return false;
      if (in.kind == Kind::kExit) return true;
      if (in.kind == Kind::kBranch)
        pc = in.target;
      else if (in.kind == Kind::kNop)
        ++pc;
      else
        return false;
    }
    return false;
  };
  std::uint32_t leaving = 0;
  std::uint32_t above = w.stack.back().mask;
  for (int i = static_cast<int>(w.stack.size()) - 2; i >= 0; --i) {
    const Entry& e = w.stack[i];
    const std::uint32_t waiting = e.mask & ~above;
    if (e.pc == e.reconverge) continue;  // they wait further down
    above |= e.mask;
    if (waiting && e.waiting == Entry::kRunning && leaves(e)) leaving |= waiting;
  }
  if (leaving == 0) return false;
  exit_lanes(w, leaving);
  return true;
}

bool Block::rotate(Warp& w, bool give_up_joins) {
  auto& stack = w.stack;
  std::uint32_t above = stack.empty() ? 0 : stack.back().mask;
  for (int i = static_cast<int>(stack.size()) - 2; i >= 0; --i) {
    const Entry s = stack[i];
    const std::uint32_t waiting = s.mask & ~above;
    const std::uint32_t shared = s.mask & above;
    above |= s.mask;
    if (waiting == 0 || s.waiting != Entry::kRunning || s.pc == s.reconverge) {
      if (s.pc == s.reconverge) above &= ~waiting;  // they wait further down
      continue;
    }
    if (shared == 0) {  // a sibling
      stack.erase(stack.begin() + i);
      stack.push_back(s);
      return true;
    }
    if (!give_up_joins) continue;
    // The join of entries above: they lose it, and those that wait there go on alone.
    if (stack.back().waiting == Entry::kRunning)
      w.flattened = true;
    else
      w.passed |= waiting;
    std::uint32_t same_frame = 0;
    for (std::size_t k = i + 1; k < stack.size(); ++k) {
      if (stack[k].depth != s.depth) continue;
      same_frame |= stack[k].mask;
      if (stack[k].reconverge == s.pc) stack[k].reconverge = s.reconverge;
    }
    Entry alone = s;
    alone.mask = waiting;
    stack[i].mask = shared & ~same_frame;  // lanes inside a call return to it
    if (stack[i].mask == 0) stack.erase(stack.begin() + i);
    stack.push_back(alone);
    return true;
  }
  return false;
}

std::uint32_t Block::split_lanes(Warp& w) {
  Entry first = w.stack.back();
  const std::uint32_t later = first.mask & static_cast<std::uint32_t>(dice_.next());
  if (dice_.below(2) != 0 || later == 0 || later == first.mask) return first.mask;
  w.stack.back().mask = later;
  first.mask &= ~later;
  w.stack.push_back(first);
  return first.mask;
}

bool Block::part_lanes(Warp& w, const Inst& in) {
  constexpr std::uint64_t kOneOf = 4;
  constexpr std::uint32_t kFewest = 16;  // of what is left of a warp, each part would run alone
  const Entry& top = w.stack.back();
  if (top.mask == w.alive) w.apart = false;
  const bool seen =
      in.space == Space::kGlobal || in.space == Space::kShared || in.space == Space::kGeneric;
  if (!seen || w.apart || run_.options->share_counters || count_bits(top.mask) < kFewest ||
      dice_.below(kOneOf) != 0)
    return false;
  const std::uint32_t before = top.mask;
  w.apart = split_lanes(w) != before;
  return w.apart;
}

bool Block::join_lanes(Warp& w) {
  auto& stack = w.stack;
  bool any = false;
  for (std::size_t i = stack.size() - 1; i-- > 0;) {
    const Entry e = stack[i];
    Entry& top = stack.back();
    if ((e.mask & top.mask) != 0 || e.pc != top.pc || e.reconverge != top.reconverge ||
        e.function != top.function || e.frame != top.frame || e.call_inst != top.call_inst ||
        e.waiting != Entry::kRunning || top.waiting != Entry::kRunning)
      continue;
    top.mask |= e.mask;
    stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(i));
    any = true;
  }
  if (stack.back().mask == w.alive) w.apart = false;
  return any;
}

bool Block::gather_lanes(Warp& w, std::uint32_t members, Step& step) {
  auto& stack = w.stack;
  const Entry top = stack.back();
  const auto& code = module_.functions[top.function].code;
  const bool syncwarp = code[top.pc].kind == Kind::kWarpBarrier;
  const Inst& now = code[top.pc];
  if (syncwarp || now.kind == Kind::kShuffle || now.kind == Kind::kVote ||
      now.kind == Kind::kMatch || now.kind == Kind::kReduce || now.kind == Kind::kElect) {
    // Lanes may name different sets in one instruction: all of them must be here.
    std::uint32_t executing = top.mask;
    if (now.guarded) {
      const std::uint32_t p = *reg32(now.guard);
      executing &= now.guard_negated ? ~p : p;
    }
    const auto* named = reg32(syncwarp ? now.a : now.e);
    bool sets_differ = false;
    for (std::uint32_t m = executing; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      members |= named[lane];
      sets_differ |= named[lane] != named[std::countr_zero(executing)];
      if (named[lane] >> lane & 1) continue;
      fail(FindingKind::kWarpMask,
           fmt::format("{}: the mask {:#010x} does not name lane {}, which executes it",
                       syncwarp ? "__syncwarp" : "a warp-wide instruction", named[lane], lane),
           w, lane, now);
      step = Step::kFail;
      return false;
    }
    // But a lane that another names must name the same set: else the result is undefined.
    for (std::uint32_t m = sets_differ ? executing : 0; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      for (std::uint32_t others = named[lane] & executing; others; others &= others - 1) {
        const int other = std::countr_zero(others);
        if (named[other] == named[lane]) continue;
        fail(FindingKind::kWarpMask,
             fmt::format("{}: lane {} has the mask {:#010x}, which names lane {}, whose mask is "
                         "{:#010x}",
                         syncwarp ? "__syncwarp" : "a warp-wide instruction", lane, named[lane],
                         other, named[other]),
             w, lane, now);
        step = Step::kFail;
        return false;
      }
    }
  }
  std::uint32_t missing = members & w.alive & ~top.mask;
  if (missing && exit_waiting(w)) missing &= w.alive;
  if (missing == 0) return true;
  const auto meets = [&](const Entry& e) {
    if (e.waiting != Entry::kAtWarpSync || !(e.mask & missing)) return false;
    if (syncwarp) return module_.functions[e.function].code[e.pc].kind == Kind::kWarpBarrier;
    return e.pc == top.pc && e.function == top.function && e.depth == top.depth;
  };
  std::uint32_t met = 0;
  for (std::size_t i = 0; i + 1 < stack.size(); ++i)
    if (meets(stack[i])) met |= stack[i].mask;
  if ((missing & ~met) == 0) {
    w.passed &= ~members;
    for (std::size_t i = 0; i + 1 < stack.size();) {
      if (!meets(stack[i])) {
        ++i;
        continue;
      }
      if (syncwarp) {
        stack[i].waiting = Entry::kRunning;
        ++stack[i].pc;
        ++i;
      } else {
        stack.back().mask |= stack[i].mask;
        if (stack[i].reconverge != stack.back().reconverge)
          stack.back().reconverge = stack[i].reconverge;
        stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    return true;
  }
  stack.back().waiting = Entry::kAtWarpSync;
  if (rotate(w, true)) {
    step = Step::kYield;
  } else {
    fail_apart(w, missing);
    step = Step::kFail;
  }
  return false;
}

void Block::fail_apart(const Warp& w, std::uint32_t missing) {
  const Entry* blamed = &w.stack.back();
  const Entry* other = nullptr;
  for (const Entry& e : w.stack)
    if (&e != blamed && e.waiting != Entry::kRunning && (e.mask & missing)) other = &e;
  if (other) {
    // Who waits further on in the program has gone past the other place.
    const bool comparable = blamed->function == other->function && blamed->depth == other->depth;
    if (comparable ? other->pc < blamed->pc : other->waiting == Entry::kAtWarpSync)
      std::swap(blamed, other);
  }
  const auto inst = [&](const Entry& e) -> const Inst& {
    return module_.functions[e.function].code[e.pc];
  };
  std::uint32_t here = 0;
  for (const Entry& e : w.stack)
    if (e.waiting == blamed->waiting && &inst(e) == &inst(*blamed)) here |= e.mask;
  const std::uint32_t absent = w.alive & ~here;
  const std::string who =
      fmt::format("{} of the warp's {} threads do not reach it (first: lane {})",
                  std::popcount(absent), std::popcount(w.alive), std::countr_zero(absent));
  const Inst& in = inst(*blamed);
  const bool sync = blamed->waiting == Entry::kAtWarpSync;
  std::string what = fmt::format("divergent barrier: {}", who);
  if (sync)
    what =
        fmt::format("{} names lanes that never reach it: {}",
                    in.kind == Kind::kWarpBarrier ? "__syncwarp" : "a warp-wide instruction", who);
  Finding f = finding_at(sync ? FindingKind::kWarpMask : FindingKind::kBarrier, std::move(what), w,
                         std::countr_zero(blamed->mask), &in);
  if (other) {
    f.other = fmt::format("lanes {:#010x} wait here", other->mask);
    f.other_place = code_place(inst(*other).place);
  }
  add_finding(std::move(f), in.place, false);
}

Block::Step Block::barrier(Warp& w, const Inst& in, std::uint32_t mask) {
  const int lane = std::countr_zero(mask);
  show_late_to_block(w);
  if (!barrier_operands(w, in, mask)) return Step::kFail;
  const std::uint32_t id = reg32(in.a)[lane];
  const std::uint32_t predicate = in.kind == Kind::kBarrierRed ? *reg32(in.c) & mask : 0;
  std::uint32_t arrived = mask;
  for (std::size_t i = 0; i + 1 < w.stack.size(); ++i) {
    const Entry& e = w.stack[i];
    if (e.waiting != static_cast<std::int32_t>(id)) continue;
    const Inst& there = module_.functions[e.function].code[e.pc];
    if (in.aligned && &there != &in) {
      fail(FindingKind::kBarrier,
           fmt::format("divergent barrier: other threads of the warp wait at the one in line {}",
                       there.line),
           w, lane, in);
      return Step::kFail;
    }
    arrived |= e.mask;
  }
  std::uint32_t missing = w.alive & ~arrived;
  if (missing && exit_waiting(w)) missing &= w.alive;
  if (missing) {
    w.barrier_predicate |= predicate;
    w.stack.back().waiting = static_cast<std::int32_t>(id);
    if (rotate(w, !in.aligned || w.flattened)) return Step::kYield;
    fail_apart(w, missing);
    return Step::kFail;
  }
  for (std::size_t i = 0; i + 1 < w.stack.size(); ++i) {
    Entry& e = w.stack[i];
    if (e.waiting != static_cast<std::int32_t>(id)) continue;
    e.waiting = Entry::kRunning;
    ++e.pc;
  }
  const std::uint32_t count = in.b == kNone ? 0 : reg32(in.b)[lane];
  expected_[id] = count ? count : static_cast<std::uint32_t>(warps_.size()) * 32;
  if (in.arrive) {
    arrived_[id] |= 1u << w.index;
    if (check_races_) clocks_.warp_sync(w.index);
    release_barrier(static_cast<int>(id));
    return Step::kNext;
  }
  w.barrier_predicate |= predicate;
  w.barrier = static_cast<int>(id);
  w.barrier_count = count;
  w.barrier_inst = w.stack.back().pc;
  w.barrier_function = w.stack.back().function;
  ++w.stack.back().pc;
  if (w.apart) join_lanes(w);
  // Whoever comes when all that it expects are there belongs to its next phase.
  if (count) release_barrier(static_cast<int>(id));
  return Step::kYield;
}

bool Block::barrier_operands(Warp& w, const Inst& in, std::uint32_t mask) {
  const int lane = std::countr_zero(mask);
  const std::uint32_t id = reg32(in.a)[lane];
  const std::uint32_t count = in.b == kNone ? 0 : reg32(in.b)[lane];
  const auto wrong = [&](int who, std::string text) {
    return fail(FindingKind::kBarrier, std::move(text), w, who, in);
  };
  if (w.tainting && in.kind == Kind::kBarrierRed && (slot_taint(w, in, in.c) & mask) &&
      !tainted_value(w, in, slot_taint(w, in, in.c) & mask, "is a vote at a barrier"))
    return false;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int i = std::countr_zero(m);
    if (reg32(in.a)[i] != id || (in.b != kNone && reg32(in.b)[i] != count))
      return wrong(i, "the lanes of a warp name different barriers or thread counts");
  }
  if (id >= 16) return wrong(lane, fmt::format("barrier {} does not exist", id));
  if (count % 32 != 0 || (in.arrive && count == 0))
    return wrong(lane,
                 fmt::format("barrier {}: {} threads are no whole number of warps", id, count));
  const auto all = static_cast<std::uint32_t>(warps_.size()) * 32;
  if (count > all)
    return wrong(
        lane, fmt::format("barrier {} expects {} threads, the block has {}", id, count, threads_));
  if (expected_[id] && expected_[id] != (count ? count : all))
    return wrong(lane, fmt::format("barrier {} expects {} threads here, but {} where others wait "
                                   "for it",
                                   id, count ? count : all, expected_[id]));
  return true;
}

std::string Block::missing_at_barrier(const Warp& w) const {
  if (w.barrier == kAtWarpgroup)
    return "a wgmma.wait_group for products that another warp of the warpgroup never begins";
  if (w.barrier < 0 || w.barrier >= 16 || w.barrier_count == 0)
    return fmt::format(
        "divergent barrier: the warp waits at barrier {} for threads that wait elsewhere",
        w.barrier);
  std::uint32_t here = arrived_[w.barrier];
  std::uint32_t ended = 0;
  for (const Warp& other : warps_) {
    if (other.done()) ended |= 1u << other.index;
    if (!other.done() && other.barrier == w.barrier) here |= 1u << other.index;
  }
  return fmt::format("divergent barrier: barrier {} expects {} threads, {} came{}", w.barrier,
                     w.barrier_count, 32 * std::popcount(here),
                     ended & ~here ? " and others have ended" : "");
}

bool Block::release_barriers() {
  bool any = release_warpgroups();
  for (int id = 0; id < 16; ++id) any = release_barrier(id) || any;
  return any;
}

bool Block::release_barrier(int id) {
  std::uint32_t waiting = 0;
  std::uint32_t done = 0;
  std::uint32_t live = 0;
  std::uint32_t count = 0;
  for (const Warp& w : warps_) {
    const std::uint32_t bit = 1u << w.index;
    if (w.done()) {
      done |= bit;
      continue;
    }
    live |= bit;
    if (w.barrier == id) {
      waiting |= bit;
      count = std::max(count, w.barrier_count);
    }
  }
  if (waiting == 0) return false;
  const std::uint32_t here = waiting | arrived_[id];
  const bool complete =
      count ? static_cast<std::uint32_t>(std::popcount(here)) * 32 >= count : (live & ~here) == 0;
  if (!complete) return false;
  if (check_races_) clocks_.barrier(here | (count ? 0 : done));
  if (tracking_ == Tracking::kStamps) global_order_.barrier(here, live);
  arrived_[id] = expected_[id] = 0;
  Moment last;
  std::uint32_t votes = 0;
  bool all = true;
  for (Warp& w : warps_) {
    if (!(waiting >> w.index & 1)) continue;
    last.not_before(w.moment());
    votes += static_cast<std::uint32_t>(std::popcount(w.barrier_predicate));
    all = all && (w.barrier_predicate & w.alive) == w.alive;
  }
  std::uint8_t* const frame = frame_;
  const Function* const function = function_;
  for (Warp& w : warps_) {
    if (!(waiting >> w.index & 1)) continue;
    function_ = &module_.functions[w.barrier_function];
    const Inst& in = function_->code[w.barrier_inst];
    if (in.kind == Kind::kBarrierRed) {
      frame_ = w.frames.data() + w.stack.back().frame;
      if (in.sub == 0) {
        for (std::uint32_t m = w.alive; m; m &= m - 1) reg32(in.d)[std::countr_zero(m)] = votes;
      } else {
        const bool result = in.sub == 1 ? all : votes > 0;
        *reg32(in.d) = (*reg32(in.d) & ~w.alive) | (result ? w.alive : 0);
      }
      if (w.tainting) set_taint(w, in, w.alive, 0);
    }
    w.wait_until(last);
    w.cycle = w.latest = last.at + 16;
    w.barrier = -1;
    w.barrier_predicate = 0;
  }
  frame_ = frame;
  function_ = function;
  return true;
}

}  // namespace hone::emulator
