// The interpreter loop: one warp until it waits, ends, or its turn is over.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {
namespace {
constexpr std::uint64_t kTurn = 1 << 16;      // instructions before another warp's turn
constexpr std::uint64_t kShortTurn = 96;      // the same when counting: warps share the L1
constexpr std::uint64_t kSpinTurn = 1 << 10;  // the same while polling memory
constexpr std::uint64_t kStarving = 1 << 22;  // before waiting lanes get their turn anyway
}  // namespace

template <bool kTainted>
bool Block::run_straight(Warp& w, std::int32_t pc, std::int32_t count, std::uint32_t active) {
  const Op* op = function_->ops.data() + pc;
  const Op* const end = op + count;
  const Inst* const code = function_->code.data();
  const auto inst = [&]() -> const Inst& { return code[op - function_->ops.data()]; };
  for (; op != end; ++op) {
    if (op->kind == Kind::kLane) {
      if (kTainted && !w.partials.empty()) weigh_bits(w, inst(), active);
      op->fn(reg(op->d), reg(op->a), reg(op->b), reg(op->c), active, op->imm);
      if constexpr (kTainted) propagate_taint(w, inst(), active);
      continue;
    }
    const Inst& in = inst();
    access_latency_ = in.latency;
    switch (op->kind) {
      case Kind::kLoad:
      case Kind::kStore:
        if (!access(w, in, active)) return false;
        if (counting_) note_latency(in);
        break;
      case Kind::kAtom:
        if (!atomic(w, in, active)) return false;
        if (counting_) note_latency(in);
        break;
      case Kind::kPack:
        pack(w, in, active);
        if constexpr (kTainted) propagate_taint(w, in, active);
        break;
      default:
        unpack(w, in, active);
        if constexpr (kTainted) propagate_taint(w, in, active);
        break;
    }
    if (!kTainted && w.tainting) {
      ++op;
      const auto at = static_cast<std::int32_t>(op - function_->ops.data());
      return run_straight<true>(w, at, static_cast<std::int32_t>(end - op), active);
    }
  }
  return true;
}

// One issue a cycle; inside a basic block ptxas moves loads up and their users down, so only a
// block's end waits for all of it to have been issued.
void Block::time_straight(Warp& w, std::int32_t pc, std::int32_t count) {
  const Timing* t = function_->timings.data() + pc;
  const std::uint32_t* latency = latencies_.data();
  std::uint64_t* const ready = w.ready.data();
  std::uint64_t cycle = w.cycle;
  std::uint64_t latest = w.latest;
  for (const Timing* const end = t + count; t != end; ++t) {
    cycle += t->issue;
    const std::uint32_t takes = t->moves ? *latency++ : t->latency;
    if (t->many) [[unlikely]] {
      const Inst& in = function_->code[t - function_->timings.data()];
      const std::uint32_t* r = function_->regs.data() + in.regs;
      std::uint64_t at = cycle;
      for (int k = 0; k < in.sources; ++k) at = std::max(at, ready[r[k] + kFirstReady]);
      latest = std::max(latest, at);
      for (int k = in.sources; k < in.sources + in.destinations; ++k)
        ready[r[k] + kFirstReady] = at + takes;
      if (t->sync) cycle = latest;
      continue;
    }
    const std::uint64_t at = std::max(std::max(cycle, ready[t->source[0]]),
                                      std::max(ready[t->source[1]], ready[t->source[2]]));
    latest = std::max(latest, at);
    ready[t->destination] = at + takes;
    if (t->sync) cycle = latest;
  }
  w.cycle = cycle;
  w.latest = latest;
}

void Block::note_latency(const Inst& in) {
  latencies_.push_back(access_latency_);
  waited_[&in - function_->code.data()] += access_latency_;
}

bool Block::spend(std::uint64_t instructions) {
  run_.executed += instructions;
  executed_ += instructions;
  if (run_.fellows && run_.executed >= run_.tell_at && !run_.fellows->tell(run_)) return false;
  return run_.executed <= run_.options->max_warp_instructions + run_.forgiven;
}

bool Block::cancelled() const {
  const auto* cancel = run_.options->cancel;
  return (cancel && cancel->load(std::memory_order_relaxed)) || run_.findings.worn_out() ||
         (run_.fellows && run_.fellows->stopped());
}

std::string Block::why_cancelled() const {
  if (!run_.findings.worn_out()) return "cancelled";
  return fmt::format("stopped after {} findings", FindingList::kMostCounted);
}

bool Block::run_warp(Warp& w) {
  const std::uint64_t budget = std::min(counting_ ? kShortTurn : kTurn, preempt_);
  std::uint64_t preempt = preempt_;
  std::uint64_t turn = 0;
  w.spinning = false;
  // What others do now is lost where it stores what it makes of what it has just read.
  const auto give_way = [&](const Inst& in, std::uint32_t mask) {
    if (!seeded_ || !in.ordered || run_.options->share_counters) return;
    if (w.torn) {
      gives_way_ = true;
      preempt = std::min(preempt, turn);
      return;
    }
    if (in.kind != Kind::kStore) note_word(w, in, mask);
    if (!run_.watch.returned && dice_.below(2) != 0) return;
    gives_way_ = true;
    hold(w.hold, run_.watch.word.address == 0 ? 3 : 8);
    if (w.hold.until > run_.executed && in.kind != Kind::kStore) begin_watch(w);
    preempt = std::min(preempt, turn);
  };
  if (w.tainting) settle_taint(w);
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
          return fail(FindingKind::kWarpMask,
                      "a warp-wide instruction names lanes that never reach it", w,
                      std::countr_zero(top->mask), in);
      }
      if (in.kind == Kind::kWarpBarrier && (w.passed & ~w.alive)) {
        frame_ = w.frames.data() + top->frame;
        if (reg32(in.a)[std::countr_zero(top->mask)] & w.passed & ~w.alive)
          return fail(FindingKind::kWarpMask, "__syncwarp names lanes that never reach it", w,
                      std::countr_zero(top->mask), in);
      }
    }
    if (turn >= 4 * kTurn || turn >= preempt) {  // loops without a plain branch; an early end
      w.executed += turn;
      const bool may_go_on = spend(turn);
      turn = 0;
      if (!may_go_on)
        return fail(Verdict::kTimeout, fmt::format("more than {} warp instructions", limit), w, 0,
                    0);
      if (preempt != ~0ull) {
        if ((w.spinning && w.executed >= kSpinTurn) || w.executed > kStarving) {
          w.executed = 0;
          rotate(w, true);
        }
        return true;
      }
    }
    function_ = &module_.functions[top->function];
    frame_ = w.frames.data() + top->frame;
    const Inst* const code = function_->code.data();
    std::uint64_t* const executions = counting_ ? run_.executions[top->function].data() : nullptr;
    std::uint64_t* const lanes = counting_ ? run_.lanes[top->function].data() : nullptr;
    if (counting_) waited_ = run_.waited[top->function].data();
    std::int32_t pc = top->pc;
    const std::int32_t stop = top->reconverge;
    const std::uint32_t active = top->mask;
    const std::uint32_t active_count = count_bits(active);
    const Op* const ops = function_->ops.data();
    bool reload = false;
    std::uint64_t issued = 0;
    while (!reload) {
      if (pc == stop) {
        top->pc = pc;
        break;
      }
      if (const std::int32_t run = seeded_ ? 0 : ops[pc].run) {
        turn += static_cast<std::uint64_t>(run);
        if (counting_) {
          ++executions[pc];
          lanes[pc] += active_count;
          latencies_.clear();
        }
        if (!(w.tainting ? run_straight<true>(w, pc, run, active)
                         : run_straight<false>(w, pc, run, active)))
          return false;
        if (counting_) time_straight(w, pc, run);
        pc += run;
        continue;
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
        std::uint64_t at = w.cycle += in.issue;
        const std::uint32_t* r = function_->regs.data() + in.regs;
        const std::uint64_t* ready = w.ready.data();
        for (int k = 0; k < in.sources; ++k) at = std::max(at, ready[r[k] + kFirstReady]);
        issued = at;
        if (at > w.latest) w.latest = at;
        if (const std::uint32_t sync = sync_of(in))
          if (sync == 1 || ++w.trips % sync == 0) w.cycle = w.latest;
        access_latency_ = in.latency;
      }
      if (w.tainting && in.guarded && in.kind != Kind::kBranch && in.kind != Kind::kLane &&
          (slot_taint(w, in, in.guard) & active))
        if (!tainted_value(w, in, slot_taint(w, in, in.guard) & active, "decides a predicate"))
          return false;
      switch (in.kind) {
        case Kind::kLane:
          if (w.tainting && !w.partials.empty()) weigh_bits(w, in, mask);
          if (mask)
            in.fn(reg(in.d), reg(in.a), reg(in.b), reg(in.c), mask,
                  static_cast<std::uint32_t>(in.imm));
          if (w.tainting) propagate_taint(w, in, mask);
          ++pc;
          break;
        case Kind::kLoad:
        case Kind::kStore:
          if (seeded_ && mask && part_lanes(w, in)) {
            w.stack.back().pc = w.stack[w.stack.size() - 2].pc = pc;
            reload = true;
            break;
          }
          if (counting_ && mask && in.kind == Kind::kStore && in.release) count_fence(w, in);
          if (mask && !access(w, in, mask)) return false;
          if (counting_ && in.acquire && mask) forget_l1();
          ++pc;
          if ((in.kind == Kind::kLoad || !late_.empty() || w.torn) && mask) give_way(in, mask);
          if (turn >= preempt) {
            top->pc = pc;
            reload = true;
          }
          break;
        case Kind::kAtom:
          if (counting_ && mask && in.release) count_fence(w, in);
          if (mask && !atomic(w, in, mask)) return false;
          if (counting_ && in.acquire && mask) forget_l1();
          ++pc;
          if ((in.used || !late_.empty()) && mask) give_way(in, mask);
          if (turn >= preempt) {
            top->pc = pc;
            reload = true;
          }
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
          if (turn >= (w.spinning ? std::min(kSpinTurn, preempt) : budget)) {
            if (!reload) top->pc = pc;
            w.executed += turn;
            const bool may_go_on = spend(turn);
            turn = 0;
            if (!may_go_on) {
              return fail(Verdict::kTimeout, fmt::format("more than {} warp instructions", limit),
                          w, std::countr_zero(active), in.line);
            }
            if (cancelled())
              return fail(Verdict::kTimeout, why_cancelled(), w, std::countr_zero(active), in.line);
            if ((w.spinning && w.executed >= kSpinTurn) || w.executed > kStarving) {
              w.executed = 0;
              rotate(w, true);
            }
            return true;
          }
          break;
        }
        case Kind::kNop:
        case Kind::kFence:
          if (in.kind == Kind::kFence) {
            if (check_races_) publish(w, in.sub != 1);
            if (!late_.empty() && mask) in.sub != 1 ? land_all_late() : show_late_to_block(w);
            if (tracking_ == Tracking::kStamps && mask && in.sub == 0) global_order_.fence(w.index);
            if (orders_cluster() && mask && in.sub == 2) global_order_.release_to_cluster(w.index);
            if (counting_ && mask) count_fence(w, in);
          } else if (counting_ && mask) {
            count_membars(w, static_cast<Membars>(in.sub));
            if (in.a != kNone) count_sleep(w, in, mask);
          }
          ++pc;
          break;
        case Kind::kPrefetch:
          if (counting_ && mask) count_prefetch(in, mask);
          if (in.sub == static_cast<std::uint8_t>(LineHint::kDiscard) && mask &&
              !discard(w, in, mask))
            return false;
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
            if (!spend(turn))
              return fail(Verdict::kTimeout, fmt::format("more than {} warp instructions", limit),
                          w, std::countr_zero(active), in.line);
            if (w.barrier >= 0) return true;
            turn = 0;
            reload = true;
          } else if (in.kind == Kind::kExit || in.kind == Kind::kRet || in.kind == Kind::kCall ||
                     in.kind == Kind::kCallIndirect || in.kind == Kind::kBranchIndexed) {
            reload = true;
          } else {
            pc = ++w.stack.back().pc;
            if (w.apart && join_lanes(w)) reload = true;
            top = &w.stack.back();
            if (top->mask != active) reload = true;
          }
          break;
        }
      }
      if (counting_ && (in.kind == Kind::kLoad || in.kind == Kind::kAtom) && waited_)
        waited_[&in - code] += access_latency_;
      if (counting_ && in.destinations) {
        const std::uint64_t when = issued + access_latency_;
        const std::uint32_t* r = function_->regs.data() + in.regs + in.sources;
        for (int k = 0; k < in.destinations; ++k) w.ready[r[k] + kFirstReady] = when;
      }
    }
  }
  if (!spend(turn))
    return fail(Verdict::kTimeout, fmt::format("more than {} warp instructions", limit), w, 0, 0);
  if (cancelled()) return fail(Verdict::kTimeout, why_cancelled(), w, 0, 0);
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
      print(w, in, mask);
      if (counting_ && mask) ++run_.counters.prints;
      return Step::kNext;
    case Kind::kTrap:
      if (mask == 0) return Step::kNext;
      if (in.sub)
        fail_assert(w, in, std::countr_zero(mask));
      else
        fail(FindingKind::kTrap, "trap", w, std::countr_zero(mask), in);
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
    case Kind::kTensor:
      return mask ? tensor(w, in, mask) : Step::kNext;
    case Kind::kActiveMask: {
      if (seeded_ && mask && !run_.options->share_counters) mask &= split_lanes(w);
      auto* d = reg32(in.d);
      for (std::uint32_t m = mask; m; m &= m - 1) d[std::countr_zero(m)] = mask;
      if (w.tainting) set_taint(w, in, mask, 0);
      return Step::kNext;
    }
    case Kind::kIsSpace: {
      const auto* a = reg64(in.a);
      std::uint32_t r = 0;
      for (int i = 0; i < 32; ++i) {
        const bool other_block =
            in.space == Space::kShared && !in.imm && a[i] - kSharedBase >= kRankBytes;
        r |= static_cast<std::uint32_t>(window(a[i]) == in.space && !other_block) << i;
      }
      *reg32(in.d) = (*reg32(in.d) & ~mask) | (r & mask);
      if (w.tainting) propagate_taint(w, in, mask);
      return Step::kNext;
    }
    case Kind::kAsync:
      if (mask == 0) return Step::kNext;
      if (!async_) async_ = std::make_unique<Async>(*this);
      return async_->run(w, in, mask);
    case Kind::kUnsupported:
      if (mask == 0) return Step::kNext;
      fail(Verdict::kUnsupported, unsupported_text(in), w, std::countr_zero(mask), in.line);
      return Step::kFail;
    default:
      fail(Verdict::kUnsupported, "the emulator does not cover an instruction", w,
           std::countr_zero(mask | 0x80000000u), in.line);
      return Step::kFail;
  }
}

}  // namespace hone::emulator
