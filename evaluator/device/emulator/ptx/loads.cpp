#include "evaluator/device/emulator/ptx/loads.h"

#include <algorithm>

#include "evaluator/device/emulator/ptx/dataflow.h"

namespace hone::emulator {
namespace {

bool is_plain_load(const Inst& in) {
  return in.kind == Kind::kLoad && !in.ordered && in.destinations > 0 &&
         (in.space == Space::kGlobal || in.space == Space::kShared || in.space == Space::kGeneric);
}

bool is_swap(const Inst& in) {
  return in.kind == Kind::kAtom && static_cast<AtomicOp>(in.sub) == AtomicOp::kCas;
}

bool computes(const Inst& in) {
  return in.kind == Kind::kLane || in.kind == Kind::kPack || in.kind == Kind::kUnpack;
}

/// Moves bits, perhaps to another place of the register.
bool moves(const Inst& in) {
  if (!computes(in)) return false;
  return in.cls != Class::kFp32 && in.cls != Class::kFp64 && in.cls != Class::kFp16 &&
         in.cls != Class::kSfu;
}

class Guesses {
 public:
  explicit Guesses(Function& f) : f_(f) {}

  void run() {
    std::vector<const Inst*> swaps;
    for (const Inst& in : f_.code)
      if (is_swap(in)) swaps.push_back(&in);
    if (swaps.empty()) return;
    const Registers candidates = compared(swaps);  // one walk for all loads
    for (std::size_t i = 0; i < f_.code.size(); ++i) {
      Inst& in = f_.code[i];
      if (!is_plain_load(in) || !writes(in, candidates)) continue;
      moved_ = closure(in, moves);
      const bool expected = std::any_of(swaps.begin(), swaps.end(), [&](const Inst* swap) {
        return expects(*swap) && may_be_one_place(in, *swap);
      });
      if (!expected) continue;
      derived_ = closure(in, computes);
      in.guess = !matters_before_swap(static_cast<std::int32_t>(i));
    }
  }

 private:
  using Registers = std::vector<char>;

  /// The registers that a load's value comes to, in whatever order the code runs.
  template <class Through>
  [[nodiscard]] Registers closure(const Inst& load, Through&& through) const {
    Registers in(f_.reg_slots.size() + 1, 0);
    const auto mark = [&](const Inst& inst) {
      const std::uint32_t* r = f_.regs.data() + inst.regs + inst.sources;
      bool more = false;
      for (int k = 0; k < inst.destinations; ++k) {
        more = more || !in[r[k]];
        in[r[k]] = 1;
      }
      return more;
    };
    mark(load);
    for (bool changed = true; changed;) {
      changed = false;
      for (const Inst& inst : f_.code)
        if (through(inst) && reads(inst, in)) changed = mark(inst) || changed;
    }
    return in;
  }

  /// The registers from which what some compare-and-swap compares with may come.
  [[nodiscard]] Registers compared(const std::vector<const Inst*>& swaps) const {
    Registers out(f_.reg_slots.size() + 1, 0);
    for (const Inst* swap : swaps) {
      for (int v = 0; v < swap->vec; ++v) {
        const std::int32_t r = register_at(f_, f_.extra[swap->extra + v]);
        if (r != kNoRegister) out[r] = 1;
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = f_.code.size(); i-- > 0;) {
        const Inst& in = f_.code[i];
        if (!moves(in) || !writes(in, out)) continue;
        for (int k = 0; k < in.sources; ++k) {
          char& from = out[f_.regs[in.regs + k]];
          changed = changed || !from;
          from = 1;
        }
      }
    }
    return out;
  }

  [[nodiscard]] bool writes(const Inst& in, const Registers& any) const {
    const std::uint32_t* r = f_.regs.data() + in.regs + in.sources;
    return std::any_of(r, r + in.destinations, [&](std::uint32_t at) { return any[at] != 0; });
  }

  [[nodiscard]] bool reads(const Inst& in, const Registers& any) const {
    const std::uint32_t* r = f_.regs.data() + in.regs;
    return std::any_of(r, r + in.sources, [&](std::uint32_t at) { return any[at] != 0; });
  }

  [[nodiscard]] bool holds(const Registers& registers, Slot slot) const {
    const std::int32_t r = register_at(f_, slot);
    return r != kNoRegister && registers[r];
  }

  /// Does the value come to what the compare-and-swap compares with?
  [[nodiscard]] bool expects(const Inst& swap) const {
    for (int v = 0; v < swap.vec; ++v)
      if (holds(moved_, f_.extra[swap.extra + v])) return true;
    return false;
  }

  /// Not where the two are known to touch different bytes.
  static bool may_be_one_place(const Inst& load, const Inst& swap) {
    if (load.space != swap.space && load.space != Space::kGeneric && swap.space != Space::kGeneric)
      return false;
    if (load.variable != 0 && swap.variable != 0 && load.variable != swap.variable) return false;
    if (load.a != swap.a || load.space != swap.space) return true;
    return load.imm < swap.imm + swap.esize * swap.vec &&
           swap.imm < load.imm + load.esize * load.vec;
  }

  /// On some way from the load that passes no compare-and-swap that checks it.
  [[nodiscard]] bool matters_before_swap(std::int32_t load) const {
    const auto n = static_cast<std::int32_t>(f_.code.size());
    std::vector<char> seen(f_.code.size(), 0);
    std::vector<std::int32_t> left;
    const auto go = [&](std::int32_t to) {
      if (to < 0 || to >= n || seen[to]) return;
      seen[to] = 1;
      left.push_back(to);
    };
    seen[load] = 1;
    go(load + 1);
    while (!left.empty()) {
      const std::int32_t at = left.back();
      left.pop_back();
      const Inst& in = f_.code[at];
      if (is_swap(in) && expects(in)) {
        if (holds(derived_, in.a)) return true;
        if (!in.guarded) continue;
      } else if (matters(in)) {
        return true;
      }
      if (in.kind == Kind::kBranch) go(in.target);
      if (in.kind == Kind::kBranchIndexed)
        for (const std::int32_t t : f_.branch_targets[in.target]) go(t);
      const bool leaves = in.kind == Kind::kBranch || in.kind == Kind::kBranchIndexed ||
                          in.kind == Kind::kRet || in.kind == Kind::kExit || in.kind == Kind::kTrap;
      if (!leaves || in.guarded) go(at + 1);
    }
    return false;
  }

  [[nodiscard]] bool matters(const Inst& in) const {
    if (computes(in) || in.kind == Kind::kBranch || in.kind == Kind::kBranchIndexed) return false;
    if (!reads(in, derived_)) return false;
    // Whether it happens at all hangs on it, as with a branch.
    const bool only_guard = in.guarded && [&] {
      const std::uint32_t* r = f_.regs.data() + in.regs;
      const std::int32_t guard = register_at(f_, in.guard);
      return std::none_of(r, r + in.sources, [&](std::uint32_t at) {
        return derived_[at] && static_cast<std::int32_t>(at) != guard;
      });
    }();
    return !only_guard;
  }

  Function& f_;
  Registers moved_, derived_;
};

}  // namespace

void find_guesses(Function& f) { Guesses(f).run(); }

void find_choices(Function& f) {
  enum : char { kUnread, kChosen, kUsed };
  std::vector<char> use(f.reg_slots.size() + 1, kUnread);
  for (const Inst& in : f.code) {
    const bool select = in.kind == Kind::kLane && in.sub == kSelect && !in.guarded;
    for (int k = 0; k < in.sources; ++k) {
      const std::uint32_t r = f.regs[in.regs + k];
      const auto is = [&](Slot slot) {
        return register_at(f, slot) == static_cast<std::int32_t>(r);
      };
      const bool chosen = select && (is(in.a) || is(in.b)) && !is(in.c);
      if (!chosen)
        use[r] = kUsed;
      else if (use[r] == kUnread)
        use[r] = kChosen;
    }
  }
  for (Inst& in : f.code)
    in.choice = is_plain_load(in) && in.destinations == 1 && in.vec == 1 &&
                use[f.regs[in.regs + in.sources]] == kChosen;
}

}  // namespace hone::emulator
