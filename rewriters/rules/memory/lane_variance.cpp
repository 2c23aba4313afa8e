#include "rewriters/rules/memory/lane_variance.h"

#include <algorithm>

#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::memory {

using syntax::Stmt;
using syntax::Variable;
using Node = syntax::Expr;

namespace {

/// The variable whose object an lvalue is part of; null when it is reached through a pointer.
const Variable* object_of(const Node* lvalue) {
  while (true) {
    lvalue = coop::strip_casts(lvalue);
    switch (lvalue->kind) {
      case Node::Kind::kVariable:
        return lvalue->variable;
      case Node::Kind::kMember:
      case Node::Kind::kSubscript:
        if (lvalue->operands.empty() || lvalue->operands[0]->type.is_pointer()) return nullptr;
        lvalue = lvalue->operands[0];
        break;
      default:
        return nullptr;
    }
  }
}

}  // namespace

LaneVariance::LaneVariance(const syntax::Function& kernel, const Variable& lane,
                           const Stmt* assumed)
    : assumed_(assumed) {
  varying_.insert(&lane);
  bool changed = true;
  while (changed) {
    changed = false;
    for (const Variable* local : kernel.locals) {
      const bool from_value = local->init != nullptr && varies(*local->init);
      if (from_value || local->address_taken) changed = add(*local) || changed;
    }
    for (const Node* expr : kernel.all_expressions) {
      // An array used as a pointer may be written through it.
      if (expr->kind == Node::Kind::kVariable && expr->variable != nullptr &&
          expr->variable->storage == Variable::Storage::kLocal &&
          expr->variable->type.kind == syntax::Type::Kind::kArray &&
          (expr->parent == nullptr || expr->parent->kind != Node::Kind::kSubscript)) {
        changed = add(*expr->variable) || changed;
      }
      const bool step = expr->kind == Node::Kind::kUnary &&
                        (expr->text.starts_with("x") || expr->text.ends_with("x"));
      if (expr->kind != Node::Kind::kAssign && !step) continue;
      const Variable* target = object_of(expr->operands[0]);
      if (target == nullptr || varies(*target)) continue;
      const bool from_operands = std::ranges::any_of(
          expr->operands, [&](const Node* operand) { return varies(*operand); });
      bool conditional = false;
      for (const Node* outer = expr; outer->parent != nullptr; outer = outer->parent) {
        const Node& parent = *outer->parent;
        const bool decides =
            parent.kind == Node::Kind::kConditional || parent.text == "&&" || parent.text == "||";
        conditional = conditional || (decides && varies(*parent.operands[0]));
      }
      if (from_operands || conditional || varying_control(expr->statement)) {
        changed = add(*target) || changed;
      }
    }
    // Declarators of one statement are copied together.
    for (const Stmt* statement : kernel.all_statements) {
      const auto any = std::ranges::any_of(
          statement->variables, [&](const Variable* v) { return v != &lane && varies(*v); });
      if (!any) continue;
      for (const Variable* variable : statement->variables) changed = add(*variable) || changed;
    }
  }
}

bool LaneVariance::add(const Variable& variable) { return varying_.insert(&variable).second; }

bool LaneVariance::varies(const syntax::Expr& expr) const {
  bool found = false;
  coop::for_each_expr(&expr, [&](const Node& node) {
    switch (node.kind) {
      case Node::Kind::kVariable:
        found = found || node.variable == nullptr || varying_.contains(node.variable);
        break;
      case Node::Kind::kCall:
        // What an atomic gives back differs; pure functions are judged by their arguments.
        found = found || node.text.empty() || node.text.starts_with("atomic") ||
                node.text.starts_with("clock");
        break;
      case Node::Kind::kOther:
        found = true;
        break;
      default:
        break;
    }
  });
  return found;
}

bool LaneVariance::varying_control(const Stmt* statement) const {
  for (; statement != nullptr; statement = statement->parent) {
    if (statement == assumed_ || statement->expr == nullptr) continue;
    switch (statement->kind) {
      case Stmt::Kind::kIf:
      case Stmt::Kind::kFor:
      case Stmt::Kind::kWhile:
      case Stmt::Kind::kDo:
      case Stmt::Kind::kSwitch:
        if (varies(*statement->expr)) return true;
        break;
      default:
        break;
    }
  }
  return false;
}

bool LaneVariance::once_for_all(const Stmt& statement) const {
  const syntax::Effects effects = syntax::effects_of(statement);
  if (effects.writes_memory || effects.synchronises || effects.unknown) return false;
  bool varying = false;
  coop::for_each_expr(statement, [&](const Node& node) {
    varying = varying || (node.kind == Node::Kind::kVariable && varies(node)) ||
              (node.kind == Node::Kind::kCall && varies(node));
  });
  coop::for_each_stmt(statement, [&](const Stmt& inner) {
    for (const Variable* variable : inner.variables) varying = varying || varies(*variable);
  });
  return !varying;
}

}  // namespace hone::rules::memory
