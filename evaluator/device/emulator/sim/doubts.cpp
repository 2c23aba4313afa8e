// Races of loads of which only selections read the result (Inst::choice): compilers load for all
// lanes what the source reads for some, so each race is kept until a lane selects that value.
#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/ptx/dataflow.h"
#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

bool Block::doubt(const Inst& in, std::uint32_t lanes, Finding finding, bool global) {
  Doubt d;
  d.lanes = lanes;
  d.global = global;
  d.held = {std::move(finding), in.place};
  doubted_.push_back(std::move(d));
  return true;
}

// After what the register held before has been forgotten.
void Block::begin_doubts(Warp& w, const Inst& in, std::uint32_t mask) {
  end_doubts(w, in, mask);
  for (Doubt& d : doubted_) {
    d.function = function_;
    d.frame = static_cast<std::size_t>(frame_ - w.frames.data());
    d.reg = function_->regs[in.regs + in.sources];
    d.lanes &= mask;
    if (d.lanes != 0) w.doubts.push_back(std::move(d));
  }
  doubted_.clear();
  w.tainting = w.tainting || !w.doubts.empty();  // so that selections are looked at
}

void Block::end_doubts(Warp& w, const Inst& in, std::uint32_t mask) {
  const std::uint32_t* r = function_->regs.data() + in.regs + in.sources;
  const auto frame = static_cast<std::size_t>(frame_ - w.frames.data());
  std::erase_if(w.doubts, [&](Doubt& d) {
    if (d.function == function_ && d.frame == frame &&
        std::find(r, r + in.destinations, d.reg) != r + in.destinations)
      d.lanes &= ~mask;
    return d.lanes == 0;
  });
}

void Block::settle_doubts(Warp& w, const Inst& in, std::uint32_t mask) {
  if (in.kind == Kind::kLane && in.sub == kSelect) {
    const std::uint32_t p = *reg32(in.c);
    const std::int32_t a = register_at(*function_, in.a);
    const std::int32_t b = register_at(*function_, in.b);
    const auto frame = static_cast<std::size_t>(frame_ - w.frames.data());
    for (const Doubt& d : w.doubts) {
      if (d.function != function_ || d.frame != frame) continue;
      const auto reg = static_cast<std::int32_t>(d.reg);
      const std::uint32_t kept = d.lanes & mask & ((a == reg ? p : 0) | (b == reg ? ~p : 0));
      if (kept != 0) confirm(w, d, std::countr_zero(kept));
    }
  }
  end_doubts(w, in, mask);
}

// Told when the block ends, or before its next finding.
void Block::confirm(const Warp& w, const Doubt& d, int lane) {
  run_.raced = run_.raced || d.global;
  const bool known =
      std::any_of(held_.begin(), held_.end(),
                  [&](const Held& h) {
                    return h.place == d.held.place && h.finding.kind == FindingKind::kRace;
                  }) ||
      (run_.findings.collects() && held_.empty() &&
       run_.findings.again(FindingKind::kRace, d.held.place));
  if (known) return;
  Held held = d.held;
  held.finding.thread = finding_at(FindingKind::kRace, {}, w, lane, nullptr).thread;
  held_.push_back(std::move(held));
}

}  // namespace hone::emulator
