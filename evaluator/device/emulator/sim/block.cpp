#include "evaluator/device/emulator/sim/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace hone::emulator {

namespace {
constexpr std::uint64_t kTurn = 1 << 16;        // instructions before another warp's turn
constexpr std::uint64_t kShortTurn = 96;        // the same when counting: warps share the L1
constexpr std::uint64_t kSpinTurn = 1 << 10;    // the same while polling memory
constexpr std::uint64_t kStarving = 1 << 22;    // before waiting lanes get their turn anyway
constexpr std::size_t kMaxFrames = 64 << 20;    // [B] a warp's call stack
constexpr std::uint32_t kMaxLocal = 512 << 10;  // [B] a thread, as CUDA

// Without the library call that std::popcount is on plain x86-64.
inline std::uint32_t count_bits(std::uint32_t v) {
  v -= (v >> 1) & 0x55555555u;
  v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
  return (((v + (v >> 4)) & 0x0F0F0F0Fu) * 0x01010101u) >> 24;
}
}  // namespace

void AlignedBytes::resize(std::size_t bytes) {
  if (bytes <= size_) return;
  std::vector<std::uint8_t> store(bytes + 64);
  auto* data = store.data() + (64 - reinterpret_cast<std::uintptr_t>(store.data()) % 64) % 64;
  if (size_) std::memcpy(data, data_, size_);
  store_ = std::move(store);
  data_ = data;
  size_ = bytes;
}

Block::Block(RunState& run)
    : run_(run), module_(*run.module), constants_(run.module->constants.data()) {
  threads_ = run.launch->block[0] * run.launch->block[1] * run.launch->block[2];
  warps_.resize((threads_ + 31) / 32);
  shared_.resize(run.shared_bytes + 64);
  check_races_ = run.options->check_races;
  check_init_ = run.options->check_initialised;
  counting_ = run.options->counters;
  if (check_races_ || check_init_) shadow_.resize(run.shared_bytes, module_.shared_granule);
  for (const Function& f : module_.functions) {
    max_local_ = std::max(max_local_, f.local_bytes);
    max_registers_ = std::max<std::uint32_t>(max_registers_, f.reg_slots.size());
  }
}

void Block::start_warps() {
  const Function& f = module_.functions[run_.function];
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    Warp& w = warps_[i];
    const std::uint32_t left = threads_ - static_cast<std::uint32_t>(i) * 32;
    w.index = static_cast<int>(i);
    w.launched = w.alive = left >= 32 ? 0xFFFFFFFFu : (1u << left) - 1;
    w.stack.clear();
    Entry entry;
    entry.mask = w.alive;
    entry.function = run_.function;
    w.stack.push_back(entry);
    w.frames.resize(f.frame_bytes);
    std::memset(w.frames.data() + f.taint_offset, 0, f.reg_slots.size() * 4);
    if (f.local_bytes > 0) {
      w.local_stride = std::max(w.local_stride, f.local_bytes);
      w.local.resize(std::size_t{w.local_stride} * 32);
      if (check_init_) w.local_written.assign(std::size_t{w.local_stride} * 32, 0);
    }
    if (counting_) w.ready.assign(max_registers_, 0);
    w.cycle = w.latest = w.executed = 0;
    w.barrier = -1;
    w.tainting = w.spinning = w.flattened = false;
    w.passed = w.barrier_predicate = 0;
  }
}

bool Block::execute(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  id_ = {x, y, z};
  start_warps();
  clocks_.reset();
  arrived_.fill(0);
  pending_ = Failure{};
  if (check_races_ || check_init_) shadow_.reset();
  std::memset(shared_.data(), 0xFF, shared_.size());  // not zero: nobody may rely on it
  std::size_t live = warps_.size();
  while (live > 0) {
    bool progress = false;
    live = 0;
    for (Warp& w : warps_) {
      if (w.done()) continue;
      if (w.barrier < 0) {
        if (!run_warp(w)) return false;
        progress = true;
      }
      if (!w.done()) ++live;
    }
    if (release_barriers()) progress = true;
    if (run_.failure.verdict != Verdict::kOk) return false;
    if (!progress && live > 0) {
      for (Warp& w : warps_) {
        if (w.done()) continue;
        const Inst& in = module_.functions[w.barrier_function].code[w.barrier_inst];
        return fail(Verdict::kFault,
                    fmt::format("divergent barrier: the warp waits at barrier {} for threads that "
                                "wait elsewhere",
                                w.barrier),
                    w, std::countr_zero(w.alive), in.line);
      }
    }
  }
  if (pending_.verdict != Verdict::kOk) {
    run_.failure = pending_;
    return false;
  }
  std::uint64_t longest = 0;
  for (const Warp& w : warps_) longest = std::max({longest, w.cycle, w.latest});
  run_.counters.critical_path_cycles = std::max(run_.counters.critical_path_cycles, longest);
  run_.counters.blocks++;
  run_.counters.warps += warps_.size();
  return true;
}

bool Block::run_warp(Warp& w) {
  const std::uint64_t budget = counting_ ? kShortTurn : kTurn;
  std::uint64_t turn = 0;
  w.spinning = false;
  const std::uint64_t limit = run_.options->max_warp_instructions;
  while (!w.stack.empty()) {
    Entry* top = &w.stack.back();
    if (top->mask == 0 || top->pc == top->reconverge) {
      w.stack.pop_back();
      continue;
    }
    if (top->waiting != Entry::kRunning) {
      // Everyone above has gone. Lanes that left early are no longer missed; the instruction runs
      // again and either goes on, waits for those below, or says who never came.
      top->waiting = Entry::kRunning;
      const Inst& in = module_.functions[top->function].code[top->pc];
      if (top->mask != 0 && in.cls != Class::kBarrier && (w.passed & ~w.alive) != 0) {
        frame_ = w.frames.data() + top->frame;
        const std::uint32_t members = reg32(in.e)[std::countr_zero(top->mask)];
        if (members & w.passed & ~w.alive)
          return fail(Verdict::kFault, "a warp-wide instruction names lanes that never reach it", w,
                      std::countr_zero(top->mask), in.line);
      }
      if (in.kind == Kind::kWarpBarrier && (w.passed & ~w.alive)) {
        frame_ = w.frames.data() + top->frame;
        if (reg32(in.a)[std::countr_zero(top->mask)] & w.passed & ~w.alive)
          return fail(Verdict::kFault, "__syncwarp names lanes that never reach it", w,
                      std::countr_zero(top->mask), in.line);
      }
    }
    if (turn >= 4 * kTurn) {  // loops without a plain branch
      run_.executed += turn;
      turn = 0;
      if (run_.executed > limit)
        return fail(Verdict::kTimeout, fmt::format("more than {} warp instructions", limit), w, 0,
                    0);
    }
    function_ = &module_.functions[top->function];
    frame_ = w.frames.data() + top->frame;
    const Inst* const code = function_->code.data();
    std::uint64_t* const executions = counting_ ? run_.executions[top->function].data() : nullptr;
    std::uint64_t* const lanes = counting_ ? run_.lanes[top->function].data() : nullptr;
    std::int32_t pc = top->pc;
    const std::int32_t stop = top->reconverge;
    const std::uint32_t active = top->mask;
    // Straight-line instructions of this entry.
    bool reload = false;
    std::uint64_t issued = 0;
    while (!reload) {
      if (pc == stop) {
        top->pc = pc;
        break;
      }
      const Inst& in = code[pc];
      std::uint32_t mask = active;
      if (in.guarded) {
        const std::uint32_t p = *reg32(in.guard);
        mask &= in.guard_negated ? ~p : p;
      }
      ++turn;
      if (counting_) {
        ++executions[pc];
        const std::uint32_t on = in.kind == Kind::kBranch ? active : mask;
        lanes[pc] += on == 0xFFFFFFFFu ? 32u : count_bits(on);
        // One issue a cycle; inside a basic block ptxas moves loads up and their users down, so
        // only a block's end waits for all of it to have been issued.
        std::uint64_t at = ++w.cycle;
        const std::uint32_t* r = function_->regs.data() + in.regs;
        const std::uint64_t* ready = w.ready.data();
        for (int k = 0; k < in.sources; ++k) at = std::max(at, ready[r[k]]);
        issued = at;
        if (at > w.latest) w.latest = at;
        if (in.kind >= Kind::kBranch) w.cycle = w.latest;
        access_latency_ = in.latency;
      }
      if (w.tainting && in.guarded && in.kind != Kind::kBranch && in.kind != Kind::kLane &&
          (slot_taint(w, in, in.guard) & active))
        if (!tainted_value(w, in, slot_taint(w, in, in.guard) & active, "decides a predicate"))
          return false;
      switch (in.kind) {
        case Kind::kLane:
          if (mask)
            in.fn(reg(in.d), reg(in.a), reg(in.b), reg(in.c), mask,
                  static_cast<std::uint32_t>(in.imm));
          if (w.tainting) propagate_taint(w, in, mask);
          ++pc;
          break;
        case Kind::kLoad:
        case Kind::kStore:
          if (mask && !access(w, in, mask)) return false;
          ++pc;
          break;
        case Kind::kAtom:
          if (mask && !atomic(w, in, mask)) return false;
          ++pc;
          break;
        case Kind::kBranch: {
          const std::uint32_t taken = mask;
          if (w.tainting && in.guarded && (slot_taint(w, in, in.guard) & active) &&
              !tainted_value(w, in, slot_taint(w, in, in.guard) & active, "decides a branch"))
            return false;
          if (taken == active) {
            pc = in.target;
          } else if (taken == 0) {
            ++pc;
          } else {
            top->pc = pc;
            if (!branch(w, in, taken)) return false;
            reload = true;
          }
          if (turn >= (w.spinning ? kSpinTurn : budget)) {
            if (!reload) top->pc = pc;
            run_.executed += turn;
            w.executed += turn;
            turn = 0;
            if (run_.executed > limit) {
              return fail(Verdict::kTimeout, fmt::format("more than {} warp instructions", limit),
                          w, std::countr_zero(active), in.line);
            }
            if (run_.options->cancel && run_.options->cancel->load(std::memory_order_relaxed))
              return fail(Verdict::kTimeout, "cancelled", w, std::countr_zero(active), in.line);
            if (w.spinning || w.executed > kStarving) {
              w.executed = 0;
              rotate(w, true);
            }
            return true;
          }
          break;
        }
        case Kind::kNop:
        case Kind::kFence:
          if (in.kind == Kind::kFence && check_races_) clocks_.fence(w.index);
          ++pc;
          break;
        case Kind::kSpecial:
          if (mask) special_register(w, in, mask);
          if (w.tainting) set_taint(w, in, mask, 0);
          ++pc;
          break;
        case Kind::kPack:
          if (mask) pack(w, in, mask);
          if (w.tainting) propagate_taint(w, in, mask);
          ++pc;
          break;
        case Kind::kUnpack:
          if (mask) unpack(w, in, mask);
          if (w.tainting) propagate_taint(w, in, mask);
          ++pc;
          break;
        default: {
          top->pc = pc;
          const Step step = special_instruction(w, in, mask);
          if (step == Step::kFail) return false;
          if (step == Step::kYield) {
            run_.executed += turn;
            if (run_.executed > limit)
              return fail(Verdict::kTimeout, fmt::format("more than {} warp instructions", limit),
                          w, std::countr_zero(active), in.line);
            if (w.barrier >= 0) return true;
            turn = 0;
            reload = true;
          } else if (in.kind == Kind::kExit || in.kind == Kind::kRet || in.kind == Kind::kCall ||
                     in.kind == Kind::kCallIndirect || in.kind == Kind::kBranchIndexed) {
            reload = true;
          } else {
            top = &w.stack.back();
            pc = ++top->pc;
            if (top->mask != active) reload = true;
          }
          break;
        }
      }
      if (counting_ && in.destinations) {
        const std::uint64_t when = issued + access_latency_;
        const std::uint32_t* r = function_->regs.data() + in.regs + in.sources;
        for (int k = 0; k < in.destinations; ++k) w.ready[r[k]] = when;
      }
    }
  }
  run_.executed += turn;
  if (run_.executed > limit)
    return fail(Verdict::kTimeout, fmt::format("more than {} warp instructions", limit), w, 0, 0);
  if (run_.options->cancel && run_.options->cancel->load(std::memory_order_relaxed))
    return fail(Verdict::kTimeout, "cancelled", w, 0, 0);
  w.alive = 0;
  return true;
}

Block::Step Block::special_instruction(Warp& w, const Inst& in, std::uint32_t mask) {
  switch (in.kind) {
    case Kind::kExit:
      if (mask) exit_lanes(w, mask);
      if (!w.stack.empty() && w.stack.back().mask) ++w.stack.back().pc;
      return Step::kNext;
    case Kind::kRet:
      if (mask) return_lanes(w, mask);
      if (w.stack.back().mask) ++w.stack.back().pc;
      return Step::kNext;
    case Kind::kBranchIndexed:
      return branch_indexed(w, in, mask) ? Step::kNext : Step::kFail;
    case Kind::kCall:
      if (mask == 0) {
        ++w.stack.back().pc;
        return Step::kNext;
      }
      return call(w, in, mask, in.target) ? Step::kNext : Step::kFail;
    case Kind::kCallIndirect:
      if (mask == 0) {
        ++w.stack.back().pc;
        return Step::kNext;
      }
      return call_indirect(w, in, mask) ? Step::kNext : Step::kFail;
    case Kind::kPrintf:
      return Step::kNext;  // its text is not kept
    case Kind::kTrap:
      if (mask == 0) return Step::kNext;
      fail(Verdict::kFault, "trap", w, std::countr_zero(mask), in.line);
      return Step::kFail;
    case Kind::kBarrier:
    case Kind::kBarrierRed:
      return mask ? barrier(w, in, mask) : Step::kNext;
    case Kind::kWarpBarrier: {
      if (mask == 0) return Step::kNext;
      const std::uint32_t members = reg32(in.a)[std::countr_zero(mask)];
      Step step = Step::kNext;
      if (!gather_lanes(w, members, step)) return step;
      if (check_races_) clocks_.warp_sync(w.index);
      return Step::kNext;
    }
    case Kind::kShuffle:
      return mask ? shuffle(w, in, mask) : Step::kNext;
    case Kind::kVote:
      return mask ? vote(w, in, mask) : Step::kNext;
    case Kind::kMatch:
      return mask ? match(w, in, mask) : Step::kNext;
    case Kind::kReduce:
      return mask ? reduce(w, in, mask) : Step::kNext;
    case Kind::kElect:
      return mask ? elect(w, in, mask) : Step::kNext;
    case Kind::kActiveMask: {
      auto* d = reg32(in.d);
      for (std::uint32_t m = mask; m; m &= m - 1) d[std::countr_zero(m)] = mask;
      return Step::kNext;
    }
    case Kind::kIsSpace: {
      const auto* a = reg64(in.a);
      std::uint32_t r = 0;
      for (int i = 0; i < 32; ++i) r |= static_cast<std::uint32_t>(window(a[i]) == in.space) << i;
      *reg32(in.d) = (*reg32(in.d) & ~mask) | (r & mask);
      return Step::kNext;
    }
    case Kind::kUnsupported:
      if (mask == 0) return Step::kNext;
      fail(Verdict::kUnsupported,
           fmt::format("the emulator does not cover '{}'", module_.unsupported[in.imm]), w,
           std::countr_zero(mask), in.line);
      return Step::kFail;
    default:
      fail(Verdict::kUnsupported, "the emulator does not cover an instruction", w,
           std::countr_zero(mask | 0x80000000u), in.line);
      return Step::kFail;
  }
}

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
      return fail(Verdict::kFault, "indexed branch beyond its table", w, lane, in.line);
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
    return fail(Verdict::kUnsupported, fmt::format("the emulator does not know '{}'", callee.name),
                w, std::countr_zero(mask), in.line);
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
    return fail(Verdict::kFault, "call stack overflow", w, std::countr_zero(mask), in.line);
  w.frames.resize(e.frame + callee.frame_bytes);
  auto* taint = reinterpret_cast<std::uint32_t*>(w.frames.data() + e.frame + callee.taint_offset);
  for (std::size_t i = 0; i < callee.reg_slots.size(); ++i) taint[i] &= ~mask;
  if (e.local + callee.local_bytes > w.local_stride) {
    const std::uint32_t stride = (e.local + callee.local_bytes) * 2;
    const auto grow = [&](std::vector<std::uint8_t>& v) {
      std::vector<std::uint8_t> bigger(std::size_t{stride} * 32);
      for (int lane = 0; lane < 32 && !v.empty(); ++lane)
        std::memcpy(bigger.data() + std::size_t{stride} * lane,
                    v.data() + std::size_t{w.local_stride} * lane, w.local_stride);
      v = std::move(bigger);
    };
    grow(w.local);
    if (check_init_) grow(w.local_written);
    w.local_stride = stride;
  }
  if (check_init_ && callee.local_bytes) {
    for (std::uint32_t m = mask; m; m &= m - 1)
      std::memset(
          w.local_written.data() + std::size_t{w.local_stride} * std::countr_zero(m) + e.local, 0,
          callee.local_bytes);
  }
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
    return fail(Verdict::kFault, "call through a pointer to no function", w, first, in.line);
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
