#include <fmt/format.h>

#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/intrinsics.h"
#include "rewriters/syntax/walk.h"

namespace hone::syntax {
namespace {

constexpr int kMaxCallDepth = 8;

void add_effects(const Stmt& statement, Effects& effects, int depth);

/// The variable that an lvalue is part of (v, v.x, v[i] of an array), or null: memory.
const Variable* variable_of(const Expr& place) {
  switch (place.kind) {
    case Expr::Kind::kVariable:
      return place.variable->is_reference ? nullptr : place.variable;
    case Expr::Kind::kMember:
      return place.operands.empty() ? nullptr : variable_of(*place.operands[0]);
    case Expr::Kind::kSubscript:
      return place.operands[0]->type.kind == Type::Kind::kArray ? variable_of(*place.operands[0])
                                                                : nullptr;
    default:
      return nullptr;
  }
}

bool is_private(const Variable& variable) {
  return variable.storage == Variable::Storage::kLocal ||
         variable.storage == Variable::Storage::kParameter;
}

void write_to(const Expr& place, Effects& effects) {
  const Variable* variable = variable_of(place);
  if (variable == nullptr) {
    effects.writes_memory = true;
    return;
  }
  effects.writes.insert(variable);
  if (!is_private(*variable)) effects.writes_memory = true;
}

void add_call(const Expr& call, Effects& effects, int depth) {
  switch (call_kind(call)) {
    case CallKind::kPure:
    case CallKind::kGroup:
      break;
    case CallKind::kOutPointer:
      for (const Expr* argument : call.operands) {
        if (!argument->type.is_pointer()) continue;
        const Expr& target = without_casts(*argument);
        if (target.kind == Expr::Kind::kUnary && target.text == "&") {
          write_to(*target.operands[0], effects);
        } else {
          effects.writes_memory = true;
        }
      }
      break;
    case CallKind::kLoad:
      effects.reads_memory = true;
      break;
    case CallKind::kStore:
      effects.writes_memory = true;
      break;
    case CallKind::kAtomic:
      effects.reads_memory = effects.writes_memory = true;
      break;
    case CallKind::kBarrier:
    case CallKind::kWarp:
      effects.synchronises = true;
      if (call.text.find("matrix") != std::string::npos) {
        effects.reads_memory = effects.writes_memory = true;
      }
      break;
    case CallKind::kUser: {
      if (depth >= kMaxCallDepth || call.callee->body == nullptr) {
        effects.unknown = true;
        break;
      }
      Effects inner;
      add_effects(*call.callee->body, inner, depth + 1);
      effects.reads_memory |= inner.reads_memory;
      effects.writes_memory |= inner.writes_memory;
      effects.synchronises |= inner.synchronises;
      effects.unknown |= inner.unknown;
      break;
    }
    case CallKind::kUnknown:
      effects.unknown = effects.reads_memory = effects.writes_memory = true;
      break;
  }
  for (const Expr* argument : call.operands) {
    if (argument->bound) write_to(*argument, effects);
  }
}

/// The target of a plain `=`, or a part of it.
bool only_written(const Expr& place) {
  const Expr* at = &place;
  while (at->parent != nullptr && at->parent->operands[0] == at &&
         (at->parent->kind == Expr::Kind::kMember || at->parent->kind == Expr::Kind::kSubscript) &&
         at->type.kind != Type::Kind::kPointer) {
    at = at->parent;
  }
  return at->parent != nullptr && at->parent->kind == Expr::Kind::kAssign &&
         at->parent->text == "=" && at->parent->operands[0] == at;
}

void add_expr(const Expr& expr, Effects& effects, int depth) {
  switch (expr.kind) {
    case Expr::Kind::kVariable: {
      effects.reads.insert(expr.variable);
      const bool is_scalar = expr.variable->type.kind != Type::Kind::kArray;
      if (expr.variable->is_reference ||
          (!is_private(*expr.variable) && is_scalar && !expr.variable->type.is_const)) {
        effects.reads_memory = true;
      }
      break;
    }
    case Expr::Kind::kAssign:
      write_to(*expr.operands[0], effects);
      break;
    case Expr::Kind::kUnary:
      if (expr.text.size() == 3) write_to(*expr.operands[0], effects);
      if (expr.text == "*" && !only_written(expr)) effects.reads_memory = true;
      break;
    case Expr::Kind::kSubscript: {
      if (only_written(expr)) break;
      const Variable* variable = variable_of(expr);
      if (variable == nullptr || !is_private(*variable)) effects.reads_memory = true;
      break;
    }
    case Expr::Kind::kCall:
      add_call(expr, effects, depth);
      break;
    case Expr::Kind::kOther:
      if (!expr.constant && expr.text.empty()) effects.unknown = true;
      break;
    case Expr::Kind::kInitList:
      for (const Expr* argument : expr.operands) {
        if (argument->bound) write_to(*argument, effects);
      }
      break;
    default:
      break;
  }
}

/// Does this break/continue/return leave `outer`?
bool leaves(const Stmt& jump, const Stmt& outer) {
  if (jump.kind == Stmt::Kind::kReturn) return true;
  for (const Stmt* at = jump.parent; at != nullptr; at = at->parent) {
    const bool target =
        is_loop(*at) || (jump.kind == Stmt::Kind::kBreak && at->kind == Stmt::Kind::kSwitch);
    if (target) return !is_inside(at, &outer);
    if (at == &outer) return true;
  }
  return true;
}

void add_effects(const Stmt& statement, Effects& effects, int depth) {
  for_each_node(
      statement,
      [&](const Stmt& inner) {
        switch (inner.kind) {
          case Stmt::Kind::kReturn:
          case Stmt::Kind::kBreak:
          case Stmt::Kind::kContinue:
            if (leaves(inner, statement)) effects.may_exit = true;
            break;
          case Stmt::Kind::kOther:
            effects.unknown = effects.may_exit = true;
            break;
          case Stmt::Kind::kDeclaration:
            for (const Variable* variable : inner.variables) {
              if (variable->init != nullptr) effects.writes.insert(variable);
            }
            break;
          default:
            break;
        }
      },
      [&](const Expr& expr) { add_expr(expr, effects, depth); });
}

}  // namespace

Effects effects_of(const Stmt& statement) {
  Effects effects;
  add_effects(statement, effects, 0);
  return effects;
}

std::string fresh_name(const TranslationUnit& unit, std::string_view stem) {
  const auto is_used = [&](const std::string& name) {
    const auto is_word = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (auto at = unit.source.find(name); at != std::string::npos;
         at = unit.source.find(name, at + 1)) {
      const auto end = at + name.size();
      if ((at == 0 || !is_word(unit.source[at - 1])) &&
          (end == unit.source.size() || !is_word(unit.source[end]))) {
        return true;
      }
    }
    return false;
  };
  std::string name(stem);
  for (int suffix = 2; is_used(name); ++suffix) name = fmt::format("{}_{}", stem, suffix);
  return name;
}

}  // namespace hone::syntax
