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
bool commutes(const Inst& in) {
  const Type::Kind kind = in.type.kind;
  if (kind == Type::kFloat || kind == Type::kBFloat || in.type.packed) return false;
  if (!in.unread || in.vec != 1 || in.type.bits < 32) return false;
  switch (static_cast<AtomicOp>(in.sub)) {
    case AtomicOp::kAdd:
    case AtomicOp::kMin:
    case AtomicOp::kMax:
    case AtomicOp::kAnd:
    case AtomicOp::kOr:
    case AtomicOp::kXor:
      return true;
    default:
      return false;
  }
}

// Two kinds of atomics on one place do not commute with each other.
int kind_of(const Inst& in) {
  const auto op = static_cast<AtomicOp>(in.sub);
  const bool ordered = op == AtomicOp::kMin || op == AtomicOp::kMax;  // signed or not
  return in.sub << 16 | (ordered ? in.type.kind : 0) << 8 | in.type.bits;
}

// Does it act on this block only, or in ways that the marks of touches.h see?
bool stays_in_block(const Function& f, const Inst& in) {
  switch (static_cast<AsyncOp>(in.sub)) {
    case AsyncOp::kCopy:
    case AsyncOp::kCommit:
    case AsyncOp::kWaitGroup:
    case AsyncOp::kWaitAll:
    case AsyncOp::kArriveOnCopies:
    case AsyncOp::kBarrierInit:
    case AsyncOp::kBarrierInval:
    case AsyncOp::kBarrierArrive:
    case AsyncOp::kBarrierExpect:
    case AsyncOp::kBarrierComplete:
    case AsyncOp::kBarrierTest:
    case AsyncOp::kBarrierPending:
    case AsyncOp::kBulkLoad:
    case AsyncOp::kBulkCommit:
    case AsyncOp::kBulkWait:
    case AsyncOp::kProxyFence:
    case AsyncOp::kSetRegisters:
      return true;
    case AsyncOp::kBulkStore:
      return !f.async[in.extra].reduce;
    default:
      return false;
  }
}

}  // namespace

Traits traits_of(const ModuleImpl& module, int function) {
  Traits traits;
  bool fences = false;
  bool publishes = false;
  int atomic_kind = -1;
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
          traits.counts = traits.counts || !in.unread;
          fences = fences || in.acquire || in.release;
          if (!commutes(in) || (atomic_kind >= 0 && atomic_kind != kind_of(in)))
            traits.independent = false;
          atomic_kind = kind_of(in);
          break;
        case Kind::kSpecial:
          if (reads_clock(in)) traits.independent = false;
          break;
        case Kind::kPrintf:
          traits.independent = false;
          break;
        case Kind::kAsync:
          if (!stays_in_block(f, in)) traits.independent = false;
          break;
        case Kind::kCall:
          visit(in.target);
          break;
        case Kind::kCallIndirect:
          for (std::size_t k = 0; k < module.functions.size(); ++k) visit(static_cast<int>(k));
          break;
        case Kind::kLane:
        case Kind::kPack:
        case Kind::kUnpack:
        case Kind::kBranch:
        case Kind::kTensor:
        case Kind::kBranchIndexed:
        case Kind::kRet:
        case Kind::kExit:
        case Kind::kTrap:
        case Kind::kBarrier:
        case Kind::kBarrierRed:
        case Kind::kWarpBarrier:
        case Kind::kShuffle:
        case Kind::kVote:
        case Kind::kMatch:
        case Kind::kReduce:
        case Kind::kActiveMask:
        case Kind::kElect:
        case Kind::kIsSpace:
        case Kind::kAlloca:
        case Kind::kNop:
          break;
        case Kind::kPrefetch:
          if (in.sub == static_cast<std::uint8_t>(LineHint::kDiscard)) traits.independent = false;
          break;
        default:  // who knows
          traits.independent = false;
          break;
      }
    }
  }
  traits.communicates = fences && publishes;
  return traits;
}

}  // namespace hone::emulator
