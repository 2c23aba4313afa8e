// Branches, calls, returns and exits: what changes the SIMT stack.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {
namespace {
constexpr std::size_t kMaxFrames = 64 << 20;    // [B] a warp's call stack
constexpr std::uint32_t kMaxLocal = 512 << 10;  // [B] a thread, as CUDA
}  // namespace

void Block::exit_lanes(Warp& w, std::uint32_t lanes) {
  w.alive &= ~lanes;
  for (Entry& e : w.stack) e.mask &= ~lanes;
}

void Block::return_lanes(Warp& w, std::uint32_t lanes) {
  const Entry top = w.stack.back();
  // Results go to the caller's area, lane by lane.
  if (top.caller >= 0) {
    const Function& callee = module_.functions[top.function];
    const Function& caller = module_.functions[top.caller];
    const CallSite& site = caller.calls[caller.code[top.call_inst].extra];
    for (std::size_t k = 0; k < site.results.size() && k < callee.returns.size(); ++k) {
      const std::uint32_t bytes = std::min(site.results[k].bytes, callee.returns[k].bytes);
      for (std::uint32_t m = lanes; m; m &= m - 1) {
        const int lane = std::countr_zero(m);
        std::memcpy(w.frames.data() + top.caller_frame + caller.formal_offset +
                        lane * caller.formal_bytes + site.results[k].to,
                    w.frames.data() + top.frame + callee.formal_offset +
                        lane * callee.formal_bytes + callee.returns[k].from,
                    bytes);
      }
      if (check_init_ && (w.tainting || callee.returns[k].unset))
        taint_result(w, top, site.results[k].to, callee.returns[k], bytes, lanes);
    }
  }
  for (Entry& e : w.stack)
    if (e.depth == top.depth) e.mask &= ~lanes;
}

bool Block::branch(Warp& w, const Inst& in, std::uint32_t taken) {
  Entry& top = w.stack.back();
  if (counting_) ++run_.counters.divergent_branches;
  const std::uint32_t other = top.mask & ~taken;
  Entry a = top;
  a.pc = in.target;
  a.mask = taken;
  a.reconverge = in.reconverge;
  Entry b = top;
  b.pc = top.pc + 1;
  b.mask = other;
  b.reconverge = in.reconverge;
  if (in.reconverge < 0) {
    // Only the end joins them: this entry goes, unless an outer point still waits for them.
    a.reconverge = b.reconverge = top.reconverge;
    w.stack.pop_back();
  } else if (in.reconverge == top.reconverge) {
    w.stack.pop_back();
  } else {
    top.pc = in.reconverge;
  }
  // Backward first, so that a loop's leavers wait at the join.
  if (seeded_ && a.pc > b.pc && !run_.options->share_counters && dice_.below(2) != 0)
    std::swap(a, b);
  if (b.pc != b.reconverge) w.stack.push_back(b);
  if (a.pc != a.reconverge) w.stack.push_back(a);
  return true;
}

bool Block::branch_indexed(Warp& w, const Inst& in, std::uint32_t mask) {
  Entry top = w.stack.back();
  if (w.tainting && (slot_taint(w, in, in.a) & mask) &&
      !tainted_value(w, in, slot_taint(w, in, in.a) & mask, "decides a branch"))
    return false;
  const auto& targets = function_->branch_targets[in.target];
  const auto* index = reg32(in.a);
  std::vector<std::pair<std::int32_t, std::uint32_t>> groups;
  const auto add = [&](std::int32_t pc, std::uint32_t lane_mask) {
    for (auto& [p, m] : groups) {
      if (p == pc) {
        m |= lane_mask;
        return;
      }
    }
    groups.push_back({pc, lane_mask});
  };
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (index[lane] >= targets.size())
      return fail(FindingKind::kTrap, "indexed branch beyond its table", w, lane, in);
    add(targets[index[lane]], 1u << lane);
  }
  if (top.mask & ~mask) add(top.pc + 1, top.mask & ~mask);
  if (groups.size() == 1) {
    w.stack.back().pc = groups[0].first;
    return true;
  }
  if (counting_) ++run_.counters.divergent_branches;
  const std::int32_t join = in.reconverge < 0 ? top.reconverge : in.reconverge;
  if (join == top.reconverge)
    w.stack.pop_back();
  else
    w.stack.back().pc = join;
  for (auto it = groups.rbegin(); it != groups.rend(); ++it) {
    Entry e = top;
    e.pc = it->first;
    e.mask = it->second;
    e.reconverge = join;
    if (e.pc != join) w.stack.push_back(e);
  }
  return true;
}

bool Block::call(Warp& w, const Inst& in, std::uint32_t mask, std::int32_t target) {
  const Function& callee = module_.functions[target];
  if (!callee.defined) {
    return fail(FindingKind::kUnsupported,
                fmt::format("the emulator does not know '{}'", callee.name), w,
                std::countr_zero(mask), in);
  }
  Entry& top = w.stack.back();
  const Function& caller = *function_;
  Entry e;
  e.mask = mask;
  e.function = target;
  e.depth = top.depth + 1;
  e.frame = top.frame + caller.frame_bytes;
  e.local = top.local + caller.local_bytes;
  e.caller = top.function;
  e.caller_frame = top.frame;
  e.call_inst = top.pc;
  if (e.frame + std::size_t{callee.frame_bytes} > kMaxFrames ||
      e.local + callee.local_bytes > kMaxLocal)
    return fail(FindingKind::kStackOverflow, "call stack overflow", w, std::countr_zero(mask), in);
  w.frames.resize(e.frame + callee.frame_bytes);
  if (e.local + callee.local_bytes > w.local_stride) {
    w.local_stride = (e.local + callee.local_bytes) * 2;
    w.local.resize(local_size(w.local_stride));
    if (check_init_) w.local_written.resize(local_size(w.local_stride));
  }
  for (std::uint32_t b = 0; check_init_ && b < callee.local_bytes; ++b)
    for (std::uint32_t m = mask; m; m &= m - 1)
      w.local_written[local_place(e.local + b, std::countr_zero(m))] = 0;
  const CallSite& site = caller.calls[in.extra];
  for (std::size_t k = 0; k < site.arguments.size() && k < callee.formals.size(); ++k) {
    const std::uint32_t bytes = std::min(site.arguments[k].bytes, callee.formals[k].bytes);
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      std::memcpy(w.frames.data() + e.frame + callee.formal_offset + lane * callee.formal_bytes +
                      callee.formals[k].to,
                  w.frames.data() + e.caller_frame + caller.formal_offset +
                      lane * caller.formal_bytes + site.arguments[k].from,
                  bytes);
    }
  }
  taint_frame(w, e, site);
  ++top.pc;
  w.stack.push_back(e);
  return true;
}

bool Block::call_indirect(Warp& w, const Inst& in, std::uint32_t mask) {
  // One target at a time: the others call again from the same place.
  const auto* a = reg64(in.a);
  const int first = std::countr_zero(mask);
  const std::uint64_t target = a[first] - kFunctionBase;
  if (target >= module_.functions.size())
    return fail(FindingKind::kTrap, "call through a pointer to no function", w, first, in);
  std::uint32_t same = 0;
  for (std::uint32_t m = mask; m; m &= m - 1)
    if (a[std::countr_zero(m)] == a[first]) same |= 1u << std::countr_zero(m);
  if (same != mask) {
    Entry& top = w.stack.back();
    Entry later = top;
    later.mask = mask & ~same;
    Entry now = top;
    now.mask = same;
    const std::uint32_t rest = top.mask & ~mask;
    // All join after the call.
    later.reconverge = now.reconverge = top.pc + 1;
    ++top.pc;
    (void)rest;
    w.stack.push_back(later);
    w.stack.push_back(now);
  }
  return call(w, in, same, static_cast<std::int32_t>(target));
}

}  // namespace hone::emulator
