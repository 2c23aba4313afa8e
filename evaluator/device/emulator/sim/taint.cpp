// The uninitialised values that registers, arguments and results carry: a mask of lanes for each,
// kept from the moment a warp has one. Reported where they reach what others can see.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/ptx/dataflow.h"
#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

std::uint32_t* Block::taints(Warp&) {
  return reinterpret_cast<std::uint32_t*>(frame_ + function_->taint_offset);
}

std::uint32_t Block::slot_taint(Warp& w, const Inst&, Slot slot) const {
  if (slot < 0 || slot == kNone) return 0;
  const auto& slots = function_->reg_slots;
  const auto it = std::lower_bound(slots.begin(), slots.end(), slot);
  if (it == slots.end() || *it != slot) return 0;
  return const_cast<Block*>(this)->taints(w)[it - slots.begin()];
}

void Block::propagate_taint(Warp& w, const Inst& in, std::uint32_t mask) {
  std::uint32_t* taint = taints(w);
  const std::uint32_t* r = function_->regs.data() + in.regs;
  std::uint32_t t = 0;
  if (!w.doubts.empty()) settle_doubts(w, in, mask);
  if (in.kind == Kind::kLane && in.sub == kSelect) {
    const std::uint32_t p = *reg32(in.c);
    t = (slot_taint(w, in, in.a) & p) | (slot_taint(w, in, in.b) & ~p) | slot_taint(w, in, in.c);
  } else if (in.kind == Kind::kLane && (in.sub == kAndPredicate || in.sub == kOrPredicate)) {
    const std::uint32_t ta = slot_taint(w, in, in.a);
    const std::uint32_t tb = slot_taint(w, in, in.b);
    if (ta | tb) {  // the destination may be a source: what is left decides
      const std::uint32_t flip = in.sub == kOrPredicate ? 0xFFFFFFFFu : 0;
      const std::uint32_t a = *reg32(in.a) ^ flip;
      const std::uint32_t b = *reg32(in.b) ^ flip;
      t = (ta & tb) | (ta & b) | (tb & a);
      if (in.d == in.a || in.d == in.b) t = ta & tb;
    }
  } else {
    for (int k = 0; k < in.sources; ++k) t |= taint[r[k]];
  }
  const bool known = undefined_for_ == &in;
  undefined_for_ = nullptr;
  if (known)
    for (std::uint32_t m = t & mask; m; m &= m - 1)
      if (undefined_[std::countr_zero(m)] == 0) t &= ~(m & -m);
  if (!w.partials.empty()) forget_partials(w, in, mask);
  for (int k = in.sources; k < in.sources + in.destinations; ++k)
    taint[r[k]] = (taint[r[k]] & ~mask) | (t & mask);
  if (known && (t & mask) != 0) add_partial(w, r[in.sources], t & mask, undefined_);
  if (!w.wgmma_writes.empty()) follow_wgmma(w, *function_, in, mask);
}

void Block::taint_slot(Warp& w, Slot slot, std::uint32_t t, std::uint32_t mask) {
  const auto& slots = function_->reg_slots;
  const auto it = std::lower_bound(slots.begin(), slots.end(), slot);
  if (it == slots.end() || *it != slot) return;
  std::uint32_t& taint = taints(w)[it - slots.begin()];
  taint = (taint & ~mask) | (t & mask);
  if (Partial* p = partial_of(w, static_cast<std::uint32_t>(it - slots.begin()))) p->lanes &= ~mask;
}

// Of what the source stores as one vector and overwrites in parts, the compiler keeps the vector
// store and names registers without contents for the parts. They count as not written.
bool Block::is_hollow(const Inst& in, int element) const {
  if (in.vec == 1) return false;
  const std::int32_t r = register_at(*function_, function_->extra[in.extra + element]);
  return r != kNoRegister &&
         std::ranges::binary_search(function_->hollow, static_cast<std::uint32_t>(r));
}

// The elements are a mask; the vector lies at `at` of span_.
void Block::leave_unwritten(const Inst& in, std::uint32_t elements, std::uint64_t at) {
  if (run_.concurrent) {  // left to grid order, as any uninitialised value that matters
    run_.met = true;
    return;
  }
  Page& page = *span_.page;
  if (!page.written) page.began_written();
  for (; elements; elements &= elements - 1)
    bits_clear(page.written.get(), at + std::countr_zero(elements) * in.esize, in.esize);
}

void Block::set_taint(Warp& w, const Inst& in, std::uint32_t mask, std::uint32_t t) {
  if (!w.doubts.empty()) end_doubts(w, in, mask);
  if (!w.partials.empty()) forget_partials(w, in, mask);
  std::uint32_t* taint = taints(w);
  const std::uint32_t* r = function_->regs.data() + in.regs + in.sources;
  for (int k = 0; k < in.destinations; ++k) taint[r[k]] = (taint[r[k]] & ~mask) | (t & mask);
}

bool Block::tainted_address(Warp& w, const Inst& in, std::uint32_t mask) {
  const std::uint32_t t = slot_taint(w, in, in.a) & mask;
  if (t == 0) return true;
  if (!tainted_value(w, in, t, "is used as an address")) return false;
  if (run_.findings.collects()) dropped_ |= t;
  return dropped_ == 0;
}

namespace {

/// Counts one more where one of this instruction waits already.
bool again(std::vector<Held>& held, std::uint32_t place) {
  for (Held& known : held) {
    if (known.place != place || known.finding.kind != FindingKind::kUninitialised) continue;
    ++known.finding.count;
    return true;
  }
  return false;
}

}  // namespace

bool Block::tainted_value(Warp& w, const Inst& in, std::uint32_t lanes, const char* use) {
  if (run_.findings.collects() && held_.empty() &&
      run_.findings.again(FindingKind::kUninitialised, in.place))
    return true;
  if (run_.findings.collects() && (again(held_, in.place) || again(run_.held, in.place))) {
    run_.findings.count(1);
    return true;
  }
  Finding f = finding_at(FindingKind::kUninitialised,
                         fmt::format("uninitialised value of {} {}", uninitialised_, use), w,
                         std::countr_zero(lanes), &in);
  f.other = uninitialised_;
  if (tracking_ != Tracking::kOff && uninitialised_global_ &&
      std::string_view(use) == kStoredToGlobal) {
    // Another block may be about to write it: then it is a race, and found before the grid ends.
    if (run_.held.empty() || run_.findings.collects())
      run_.held.push_back({std::move(f), in.place});
    return true;
  }
  if (!check_races_ || !uninitialised_.starts_with("shared"))
    return add_finding(std::move(f), in.place, true);
  // The writer may only come later in this run: then it is a race, and found before the block ends.
  if (held_.empty() || run_.findings.collects()) held_.push_back({std::move(f), in.place});
  return true;
}

void Block::settle_taint(Warp& w) {
  if (w.stack.size() != 1 || w.stack.back().depth != 0 || !w.wgmma_writes.empty()) return;
  const Function& f = module_.functions[w.stack.back().function];
  const auto* taint = reinterpret_cast<const std::uint32_t*>(w.frames.data() +
                                                             w.stack.back().frame + f.taint_offset);
  w.tainting = !w.doubts.empty() ||
               std::any_of(taint, taint + taint_words(f), [](std::uint32_t t) { return t != 0; });
  if (!w.tainting) w.partials.clear();
}

std::uint32_t* Block::formal_taints(Warp& w, std::uint32_t frame, const Function& f) {
  return reinterpret_cast<std::uint32_t*>(w.frames.data() + frame + f.taint_offset) +
         f.reg_slots.size();
}

void Block::taint_result(Warp& w, const Entry& call, std::uint32_t to, const CallArgument& from,
                         std::uint32_t bytes, std::uint32_t lanes) {
  const Function& callee = module_.functions[call.function];
  std::uint32_t* target = formal_taints(w, call.caller_frame, module_.functions[call.caller]) + to;
  const std::uint32_t* source = formal_taints(w, call.frame, callee) + from.from;
  for (std::uint32_t b = 0; b < bytes; ++b)
    target[b] = (target[b] & ~lanes) | (from.unset ? lanes : source[b] & lanes);
  if (!from.unset) return;
  w.tainting = true;
  uninitialised_ = fmt::format("the result that {} never sets", readable(callee.name));
  uninitialised_global_ = false;
}

// Registers, arguments and results of a new call, for its lanes.
void Block::taint_frame(Warp& w, const Entry& call, const CallSite& site) {
  const Function& callee = module_.functions[call.function];
  const Function& caller = module_.functions[call.caller];
  auto* taint =
      reinterpret_cast<std::uint32_t*>(w.frames.data() + call.frame + callee.taint_offset);
  for (std::uint32_t i = 0; i < taint_words(callee); ++i) taint[i] &= ~call.mask;
  if (!check_init_) return;
  const bool tainting = w.tainting;
  for (std::size_t k = 0; k < site.arguments.size() && k < callee.formals.size(); ++k) {
    const CallArgument& from = site.arguments[k];
    if (!tainting && !from.unset) continue;
    const std::uint32_t bytes = std::min(from.bytes, callee.formals[k].bytes);
    const std::uint32_t* given = formal_taints(w, call.caller_frame, caller) + from.from;
    std::uint32_t* taken = formal_taints(w, call.frame, callee) + callee.formals[k].to;
    for (std::uint32_t b = 0; b < bytes; ++b) taken[b] |= call.mask & (from.unset ? ~0u : given[b]);
    if (!from.unset) continue;
    w.tainting = true;
    uninitialised_ =
        fmt::format("argument {} of {}, which its caller never sets", k + 1, readable(callee.name));
    uninitialised_global_ = false;
  }
  taint_live_in(w, callee, taint, call.mask);
}

void Block::taint_live_in(Warp& w, const Function& f, std::uint32_t* taint, std::uint32_t lanes) {
  if (f.live_in.empty()) return;
  for (const std::uint32_t r : f.live_in) taint[r] |= lanes;
  w.tainting = true;
  uninitialised_ = "a register that nothing has written";
  uninitialised_global_ = false;
}

void Block::taint_formal(Warp& w, const Inst& in, int lane, std::uint64_t at) {
  const Slot* slots = function_->extra.data() + in.extra;
  std::uint32_t* taint = taints(w) + function_->reg_slots.size() + at;
  const std::uint32_t bit = 1u << lane;
  for (int v = 0; v < in.vec; ++v) {
    for (int k = 0; k < in.esize; ++k, ++taint) {
      if (in.kind == Kind::kStore)
        *taint = (*taint & ~bit) | (slot_taint(w, in, slots[v]) & bit);
      else if (slots[v] != kNone)
        load_taint_ |= *taint & bit;
    }
  }
}

}  // namespace hone::emulator
