// Which bits of a register are uninitialised, where it is not all of them: bytes of a word that
// were written one by one, and what masks, shifts and permutations make of them. Kept by warp for
// the few registers that are so; a register that is tainted and has no entry is so as a whole.
#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/ptx/dataflow.h"
#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {
namespace {
constexpr std::size_t kMostPartials = 64;  // of a warp
}  // namespace

bool Block::is_wide(Slot slot) const {
  const auto& slots = function_->reg_slots;
  const auto next = std::upper_bound(slots.begin(), slots.end(), slot);
  const auto end = next == slots.end() ? static_cast<Slot>(function_->taint_offset) : *next;
  return end - slot >= static_cast<Slot>(32 * sizeof(std::uint64_t));
}

Partial* Block::partial_of(Warp& w, std::uint32_t reg) {
  const auto frame = static_cast<std::size_t>(frame_ - w.frames.data());
  for (Partial& p : w.partials)
    if (p.reg == reg && p.frame == frame && p.function == function_) return &p;
  return nullptr;
}

void Block::add_partial(Warp& w, std::uint32_t reg, std::uint32_t lanes,
                        const std::uint64_t* bits) {
  Partial* p = partial_of(w, reg);
  if (p == nullptr) {
    if (w.partials.size() >= kMostPartials) return;
    p = &w.partials.emplace_back();
    p->function = function_;
    p->frame = static_cast<std::size_t>(frame_ - w.frames.data());
    p->reg = reg;
  }
  p->lanes |= lanes;
  for (std::uint32_t m = lanes; m; m &= m - 1)
    p->bits[std::countr_zero(m)] = bits[std::countr_zero(m)];
}

void Block::forget_partials(Warp& w, const Inst& in, std::uint32_t mask) {
  const std::uint32_t* r = function_->regs.data() + in.regs + in.sources;
  const auto frame = static_cast<std::size_t>(frame_ - w.frames.data());
  std::erase_if(w.partials, [&](Partial& p) {
    if (p.function == function_ && p.frame == frame &&
        std::find(r, r + in.destinations, p.reg) != r + in.destinations)
      p.lanes &= ~mask;
    return p.lanes == 0;
  });
}

// Executed with all such bits of some sources the other way round, for every choice of sources: a
// bit of the result that is never another one does not hang on them.
void Block::weigh_bits(Warp& w, const Inst& in, std::uint32_t mask) {
  undefined_for_ = nullptr;
  if (in.bits == 0 || mask == 0) return;
  const Slot from[3] = {in.a, in.b, in.c};
  std::uint32_t tainted[3], any = 0, whole = 0;
  for (int k = 0; k < 3; ++k) {
    tainted[k] = slot_taint(w, in, from[k]) & mask;
    any |= tainted[k];
    if (in.bits >> k & 1 & (k > 0 ? 1 : 0)) whole |= tainted[k];
  }
  if (any == 0) return;
  alignas(64) std::uint64_t flipped[3][32];
  int choices = 0;
  for (int k = 0; k < 3; ++k) {
    if (tainted[k] == 0 || (k > 0 && (in.bits >> k & 1))) continue;
    choices |= 1 << k;
    const auto reg_of = static_cast<std::uint32_t>(register_at(*function_, from[k]));
    const Partial* p = partial_of(w, reg_of);
    const bool wide = is_wide(from[k]);
    for (int lane = 0; lane < 32; ++lane) {
      std::uint64_t bits = 0;
      if (tainted[k] >> lane & 1) bits = p && (p->lanes >> lane & 1) ? p->bits[lane] : ~0ull;
      if (wide)
        flipped[k][lane] = reg64(from[k])[lane] ^ bits;
      else
        reinterpret_cast<std::uint32_t*>(flipped[k])[lane] =
            reg32(from[k])[lane] ^ static_cast<std::uint32_t>(bits);
    }
  }
  alignas(64) std::uint64_t plain[32] = {}, other[32] = {};
  const auto imm = static_cast<std::uint32_t>(in.imm);
  in.fn(plain, reg(in.a), reg(in.b), reg(in.c), mask, imm);
  std::fill(std::begin(undefined_), std::end(undefined_), 0);
  const bool wide = is_wide(in.d);
  for (int choice = 1; choice < 8; ++choice) {
    if ((choice & ~choices) != 0) continue;
    const void* sources[3];
    for (int k = 0; k < 3; ++k)
      sources[k] = choice >> k & 1 ? static_cast<const void*>(flipped[k]) : reg(from[k]);
    in.fn(other, sources[0], sources[1], sources[2], mask, imm);
    for (int lane = 0; lane < 32; ++lane)
      undefined_[lane] |= wide ? plain[lane] ^ other[lane]
                               : reinterpret_cast<const std::uint32_t*>(plain)[lane] ^
                                     reinterpret_cast<const std::uint32_t*>(other)[lane];
  }
  for (std::uint32_t m = whole; m; m &= m - 1) undefined_[std::countr_zero(m)] = ~0ull;
  undefined_for_ = &in;
}

void Block::refine_load(Warp& w, const Inst& in, std::uint32_t mask) {
  const Slot* slots = function_->extra.data() + in.extra;
  const std::uint32_t all = (1u << in.esize) - 1;
  for (int v = 0; v < in.vec; ++v) {
    const std::int32_t reg = register_at(*function_, slots[v]);
    if (slots[v] == kNone || reg == kNoRegister) continue;
    std::uint64_t bits[32];
    std::uint32_t clean = 0, some = 0;
    for (std::uint32_t m = load_taint_ & mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (holes_[lane] == 0) continue;
      const std::uint32_t bytes = holes_[lane] >> (v * in.esize) & all;
      bits[lane] = 0;
      for (int b = 0; b < in.esize; ++b)
        if (bytes >> b & 1) bits[lane] |= 0xFFull << (8 * b);
      if (in.sign_extend && (bytes >> (in.esize - 1) & 1) && in.esize < 8)
        bits[lane] |= ~0ull << (8 * in.esize);
      (bytes == 0 ? clean : some) |= 1u << lane;
    }
    if (clean != 0) taints(w)[reg] &= ~clean;
    if (some != 0) add_partial(w, static_cast<std::uint32_t>(reg), some, bits);
  }
}

}  // namespace hone::emulator
