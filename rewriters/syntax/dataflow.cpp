#include "rewriters/syntax/dataflow.h"

#include "rewriters/syntax/intrinsics.h"
#include "rewriters/syntax/places.h"
#include "rewriters/syntax/walk.h"

namespace hone::syntax {
namespace {

using Varies = Dataflow::Varies;
constexpr Varies kBoth{true, true};

/// A function of the file that only computes from its arguments.
bool is_closed(const Function& function) {
  if (function.body == nullptr) return false;
  const Effects effects = effects_of(*function.body);
  if (effects.reads_memory || effects.writes_memory || effects.synchronises || effects.unknown) {
    return false;
  }
  bool closed = true;
  for (const Expr* expr : function.all_expressions) {
    if (expr->kind == Expr::Kind::kBuiltin) closed = false;
    if (expr->kind == Expr::Kind::kCall && expr->callee != nullptr) closed = false;
  }
  return closed;
}

Varies builtin(const std::string& text) {
  if (text.starts_with("threadIdx")) return {true, false};
  if (text.starts_with("blockIdx")) return {false, true};
  return {};
}

/// What a load through this pointer gives when its address is the same for all.
Varies loaded(const std::set<const Variable*>& origins, const std::set<const Variable*>& written) {
  Varies result;
  for (const Variable* origin : origins) {
    if (origin == nullptr) return kBoth;
    switch (origin->storage) {
      case Variable::Storage::kShared:
      case Variable::Storage::kDynamicShared:
        result.block = true;  // one copy per block; free of races, so the same for its threads
        break;
      case Variable::Storage::kParameter:
      case Variable::Storage::kGlobal:
        if (written.count(nullptr) != 0 || written.count(origin) != 0) return kBoth;
        break;
      case Variable::Storage::kConstant:
        break;
      case Variable::Storage::kLocal:
        break;  // the array's own flag is added by the caller
    }
  }
  return result;
}

}  // namespace

Varies Dataflow::of(const Expr& expr) const {
  if (expr.constant) return {};
  Varies result;
  for (const Expr* operand : expr.operands) result = result | of(*operand);
  switch (expr.kind) {
    case Expr::Kind::kVariable: {
      const Variable& variable = *expr.variable;
      if (variable.is_reference) return kBoth;
      const bool is_array = variable.type.kind == Type::Kind::kArray;
      const bool is_private = variable.storage == Variable::Storage::kLocal ||
                              variable.storage == Variable::Storage::kParameter;
      if (!is_private && !is_array && !variable.type.is_const) {
        return loaded({&variable}, written);
      }
      const auto found = variables.find(&variable);
      return found == variables.end() ? Varies{} : found->second;
    }
    case Expr::Kind::kBuiltin:
      return builtin(expr.text);
    case Expr::Kind::kSubscript:
      if (expr.type.kind == Type::Kind::kArray) return result;
      return result | loaded(origins_of(*expr.operands[0]), written);
    case Expr::Kind::kUnary:
      if (expr.text == "*") return result | loaded(origins_of(*expr.operands[0]), written);
      return result;
    case Expr::Kind::kCall:
      switch (call_kind(expr)) {
        case CallKind::kPure:
        case CallKind::kOutPointer:
          return result;
        case CallKind::kLoad:
          return result | loaded(origins_of(*expr.operands[0]), written);
        case CallKind::kBarrier:
          return {false, true};  // __syncthreads_or and kin: one answer per block
        case CallKind::kUser:
          return is_closed(*expr.callee) ? result : kBoth;
        default:
          return kBoth;
      }
    case Expr::Kind::kOther:
      return expr.text.empty() ? kBoth : result;
    default:
      return result;
  }
}

Varies Dataflow::loop_control(const Stmt& loop) const {
  Varies result;
  if (loop.expr != nullptr) result = of(*loop.expr);
  for_each_node(
      loop,
      [&](const Stmt& inner) {
        if (inner.kind == Stmt::Kind::kOther) result = kBoth;
        if (inner.kind != Stmt::Kind::kBreak && inner.kind != Stmt::Kind::kReturn) return;
        const Stmt* target = &inner;
        if (inner.kind == Stmt::Kind::kBreak) {
          do target = target->parent;
          while (target != nullptr && !is_loop(*target) && target->kind != Stmt::Kind::kSwitch);
          if (target != &loop) return;
        }
        // The conditions between the loop and its way out; inner loops' own conditions count too.
        for (const Stmt* at = inner.parent; at != nullptr && at != &loop; at = at->parent) {
          if (at->expr != nullptr && at->kind != Stmt::Kind::kCase) result = result | of(*at->expr);
        }
      },
      [](const Expr&) {});
  return result;
}

Varies Dataflow::control(const Stmt& statement, const Stmt* scope) const {
  Varies result;
  for (const Stmt* at = &statement; at != nullptr && at != scope; at = at->parent) {
    if (at->kind == Stmt::Kind::kOther) return kBoth;
    if (is_loop(*at)) {
      result = result | loop_control(*at);
      // `continue` skips what follows it in the same loop.
      for_each_node(
          *at,
          [&](const Stmt& inner) {
            if (inner.kind != Stmt::Kind::kContinue) return;
            for (const Stmt* up = inner.parent; up != nullptr && up != at; up = up->parent) {
              if (up->expr != nullptr && up->kind != Stmt::Kind::kCase) {
                result = result | of(*up->expr);
              }
            }
          },
          [](const Expr&) {});
    } else if (at != &statement &&
               (at->kind == Stmt::Kind::kIf || at->kind == Stmt::Kind::kSwitch) &&
               at->expr != nullptr) {
      result = result | of(*at->expr);
    }
  }
  return result;
}

std::shared_ptr<const Dataflow> find_dataflow(const Function& function,
                                              const std::vector<Access>& accesses) {
  auto flow = std::make_shared<Dataflow>();
  for (const Access& access : accesses) {
    if (access.kind == Access::Kind::kRead) continue;
    if (access.base == nullptr) {
      flow->written.insert(nullptr);
    } else {
      const auto origins = origins_of(*access.base);
      flow->written.insert(origins.begin(), origins.end());
    }
  }
  std::vector<const Variable*> locals = function.locals;
  locals.insert(locals.end(), function.parameters.begin(), function.parameters.end());

  for (bool changed = true; changed;) {
    changed = false;
    for (const Variable* variable : locals) {
      Varies varies = flow->variables[variable];
      const bool is_array = variable->type.kind == Type::Kind::kArray;
      const bool is_private = variable->storage == Variable::Storage::kLocal ||
                              variable->storage == Variable::Storage::kParameter;
      if (!is_private) continue;  // memory: judged at each load
      if (variable->address_taken && (!is_array || variable->is_reference)) varies = kBoth;
      if (is_array && variable->address_taken) varies = kBoth;
      if (variable->init != nullptr) varies = varies | flow->of(*variable->init);
      const Stmt* scope = variable->statement == nullptr ? nullptr : variable->statement->parent;
      for (const Expr* write : variable->write_sites) {
        for (const Expr* operand : write->operands) varies = varies | flow->of(*operand);
        // A `for` that declares the variable does not make its own step conditional.
        const bool own_loop = scope != nullptr && scope->kind == Stmt::Kind::kFor;
        if (own_loop && write->statement == scope) continue;
        varies = varies | flow->control(*write->statement, scope);
      }
      if (varies != flow->variables[variable]) {
        flow->variables[variable] = varies;
        changed = true;
      }
    }
  }
  return flow;
}

}  // namespace hone::syntax
