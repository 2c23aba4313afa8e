// Visiting everything inside a statement or an expression, in source order.
#pragma once

#include "rewriters/syntax/ast.h"

namespace hone::syntax {

template <class F>
void for_each_expr(const Expr& expr, F&& visit) {
  visit(expr);
  for (const Expr* operand : expr.operands) for_each_expr(*operand, visit);
}

/// `visit_statement` sees the statement itself first; `visit_expr` every expression under it.
template <class S, class E>
void for_each_node(const Stmt& statement, S&& visit_statement, E&& visit_expr) {
  visit_statement(statement);
  for (const Variable* variable : statement.variables) {
    if (variable->init != nullptr) for_each_expr(*variable->init, visit_expr);
  }
  if (statement.init != nullptr) for_each_node(*statement.init, visit_statement, visit_expr);
  if (statement.expr != nullptr) for_each_expr(*statement.expr, visit_expr);
  if (statement.step != nullptr) for_each_expr(*statement.step, visit_expr);
  for (const Stmt* child : statement.children) for_each_node(*child, visit_statement, visit_expr);
}

template <class E>
void for_each_expr(const Stmt& statement, E&& visit) {
  for_each_node(statement, [](const Stmt&) {}, visit);
}

[[nodiscard]] inline bool is_inside(const Stmt* statement, const Stmt* outer) {
  for (; statement != nullptr; statement = statement->parent) {
    if (statement == outer) return true;
  }
  return false;
}

[[nodiscard]] inline bool is_loop(const Stmt& statement) {
  return statement.kind == Stmt::Kind::kFor || statement.kind == Stmt::Kind::kWhile ||
         statement.kind == Stmt::Kind::kDo;
}

/// The expression without the casts around it.
[[nodiscard]] inline const Expr& without_casts(const Expr& expr) {
  const Expr* inner = &expr;
  while (inner->kind == Expr::Kind::kCast && inner->operands.size() == 1) {
    inner = inner->operands[0];
  }
  return *inner;
}

}  // namespace hone::syntax
