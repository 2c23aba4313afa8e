// Does what a kernel does, and not only what it computes, depend on the contents of its buffers?
#include <algorithm>
#include <vector>

#include "evaluator/device/emulator/ptx/dataflow.h"

namespace hone::emulator {
namespace {

class FollowsData {
 public:
  explicit FollowsData(const ModuleImpl& module)
      : module_(module), seen_(module.functions.size()) {}

  bool from(int function) {
    visit(function);
    // Arguments and results of functions are not followed: a called one may get what was loaded.
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (one(module_.functions[static_cast<std::size_t>(order_[i])], i > 0)) return true;
    return false;
  }

 private:
  void visit(int f) {
    if (f < 0 || seen_[static_cast<std::size_t>(f)]) return;
    seen_[static_cast<std::size_t>(f)] = true;
    order_.push_back(f);
  }

  bool one(const Function& f, bool called) {
    std::vector<char> loaded(f.reg_slots.size(), 0);
    bool kept = called;  // in shared or local memory, or among a call's arguments
    const auto is_loaded = [&](Slot slot) {
      const std::int32_t r = register_at(f, slot);
      return r != kNoRegister && loaded[static_cast<std::size_t>(r)] != 0;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (const Inst& in : f.code) {
        const std::uint32_t* r = f.regs.data() + in.regs;
        const bool any = std::any_of(r, r + in.sources, [&](auto at) { return loaded[at] != 0; });
        bool result = any;
        switch (in.kind) {
          case Kind::kLoad:
            if (in.space == Space::kGlobal || in.space == Space::kGeneric)
              result = true;
            else
              result = in.space != Space::kParam && kept;
            break;
          case Kind::kAtom:
            result = true;
            break;
          case Kind::kStore:
            if (any && in.space != Space::kGlobal && !kept) kept = changed = true;
            break;
          case Kind::kAsync:
            if (!kept) kept = changed = true;
            break;
          case Kind::kCall:
            visit(in.target);
            result = true;
            break;
          case Kind::kCallIndirect:
            for (std::size_t k = 0; k < module_.functions.size(); ++k) visit(static_cast<int>(k));
            result = true;
            break;
          default:
            break;
        }
        if (!result) continue;
        for (int k = in.sources; k < in.sources + in.destinations; ++k) {
          changed = changed || loaded[r[k]] == 0;
          loaded[r[k]] = 1;
        }
      }
    }
    return std::ranges::any_of(f.code, [&](const Inst& in) {
      switch (in.kind) {
        case Kind::kBranch:
          return in.guarded && is_loaded(in.guard);
        case Kind::kBranchIndexed:
        case Kind::kLoad:
        case Kind::kStore:
        case Kind::kAtom:
          return (in.guarded && is_loaded(in.guard)) || is_loaded(in.a);
        default:
          return false;
      }
    });
  }

  const ModuleImpl& module_;
  std::vector<bool> seen_;
  std::vector<int> order_;
};

}  // namespace

bool follows_data(const Module& base, std::string_view kernel) {
  const auto& module = static_cast<const ModuleImpl&>(base);
  for (std::size_t i = 0; i < module.kernels_.size(); ++i)
    if (module.kernels_[i].name == kernel)
      return FollowsData(module).from(module.kernel_functions[i]);
  return true;
}

template <class Is>
bool any_instruction(const Module& base, const Is& is) {
  const auto& module = static_cast<const ModuleImpl&>(base);
  return std::ranges::any_of(module.functions,
                             [&](const Function& f) { return std::ranges::any_of(f.code, is); });
}

bool has_ordered_accesses(const Module& module) {
  return any_instruction(module, [](const Inst& in) { return in.ordered; });
}

bool has_stores_seen_in_parts(const Module& module) { return any_instruction(module, is_in_parts); }

}  // namespace hone::emulator
