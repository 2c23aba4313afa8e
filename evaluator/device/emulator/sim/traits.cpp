#include "evaluator/device/emulator/sim/traits.h"

#include <algorithm>
#include <vector>

namespace hone::emulator {
namespace {

bool reaches_global(const Inst& in) {
  return in.space == Space::kGlobal || in.space == Space::kGeneric;
}

bool reads_clock(const Inst& in) {
  switch (static_cast<SpecialRegister>(in.imm)) {
    case SpecialRegister::kClock:
    case SpecialRegister::kClock64:
    case SpecialRegister::kClockHi:
    case SpecialRegister::kGlobaltimer:
    case SpecialRegister::kGlobaltimerLo:
    case SpecialRegister::kGlobaltimerHi:
      return true;
    default:
      return false;
  }
}

// Integer sums and the like, whose old value nobody uses: any order gives the same memory.
bool commutes(const Function& f, const Inst& in, const std::vector<bool>& read) {
  const Type::Kind kind = in.type.kind;
  if (kind == Type::kFloat || kind == Type::kBFloat || in.type.packed) return false;
  switch (static_cast<AtomicOp>(in.sub)) {
    case AtomicOp::kAdd:
    case AtomicOp::kMin:
    case AtomicOp::kMax:
    case AtomicOp::kAnd:
    case AtomicOp::kOr:
    case AtomicOp::kXor:
      break;
    default:
      return false;
  }
  for (int k = in.sources; k < in.sources + in.destinations; ++k)
    if (read[f.regs[in.regs + k]]) return false;
  return true;
}

}  // namespace

Traits traits_of(const ModuleImpl& module, int function) {
  Traits traits;
  bool fences = false;
  bool publishes = false;
  // Two kinds of atomics on one place do not commute with each other.
  int atomic_op = -1;
  std::vector<bool> seen(module.functions.size());
  std::vector<int> left{function};
  seen[function] = true;
  const auto visit = [&](int f) {
    if (f >= 0 && !seen[f]) {
      seen[f] = true;
      left.push_back(f);
    }
  };
  while (!left.empty()) {
    const Function& f = module.functions[left.back()];
    left.pop_back();
    std::vector<bool> read(f.reg_slots.size() + 1);
    for (const Inst& in : f.code)
      for (int k = 0; k < in.sources; ++k) read[f.regs[in.regs + k]] = true;
    for (const Inst& in : f.code) {
      switch (in.kind) {
        case Kind::kFence:
          fences = fences || in.sub == 0;
          break;
        case Kind::kLoad:
        case Kind::kStore:
          if (!reaches_global(in)) break;
          if (in.kind == Kind::kStore && in.esize < 4)
            traits.granule_shift = std::min(traits.granule_shift, in.esize == 1 ? 0 : 1);
          if (!in.ordered) break;
          publishes = true;
          fences = fences || in.acquire || in.release;
          traits.independent = false;
          break;
        case Kind::kAtom:
          if (!reaches_global(in)) break;
          if (in.esize < 4) traits.granule_shift = std::min(traits.granule_shift, 1);
          publishes = true;
          fences = fences || in.acquire || in.release;
          if (!commutes(f, in, read) || (atomic_op >= 0 && atomic_op != in.sub))
            traits.independent = false;
          atomic_op = in.sub;
          break;
        case Kind::kSpecial:
          if (reads_clock(in)) traits.independent = false;
          break;
        case Kind::kPrintf:
          traits.independent = false;
          break;
        case Kind::kCall:
          visit(in.target);
          break;
        case Kind::kCallIndirect:
          for (std::size_t k = 0; k < module.functions.size(); ++k) visit(static_cast<int>(k));
          break;
        default:
          break;
      }
    }
  }
  traits.communicates = fences && publishes;
  return traits;
}

}  // namespace hone::emulator
