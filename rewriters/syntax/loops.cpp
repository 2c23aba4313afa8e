// Recognises canonical `for` loops.
#include "rewriters/syntax/kernel_parts.h"
#include "rewriters/syntax/walk.h"

namespace hone::syntax {
namespace {

bool is_use_of(const Expr& expr, const Variable& variable) {
  const Expr& inner = without_casts(expr);
  return inner.kind == Expr::Kind::kVariable && inner.variable == &variable;
}

/// Positive at every launch: a product or sum of block and grid dimensions.
bool surely_positive(const Polynomial& polynomial) {
  if (polynomial.is_zero()) return false;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    if (coefficient <= 0) return false;
    for (const std::string& symbol : monomial) {
      if (!symbol.starts_with("blockDim.") && !symbol.starts_with("gridDim.")) return false;
    }
  }
  return true;
}

bool read_step(const Expr* step, Loop& loop) {
  if (step == nullptr) return false;
  const Variable& variable = *loop.variable;
  const Expr* amount = nullptr;
  if (step->kind == Expr::Kind::kUnary && (step->text == "++x" || step->text == "x++")) {
    if (!is_use_of(*step->operands[0], variable)) return false;
    loop.step = 1;
    return true;
  }
  if (step->kind != Expr::Kind::kAssign || !is_use_of(*step->operands[0], variable)) return false;
  if (step->text == "+=") {
    amount = step->operands[1];
  } else if (step->text == "=") {
    const Expr& sum = without_casts(*step->operands[1]);
    if (sum.kind != Expr::Kind::kBinary || sum.text != "+") return false;
    if (is_use_of(*sum.operands[0], variable)) {
      amount = sum.operands[1];
    } else if (is_use_of(*sum.operands[1], variable)) {
      amount = sum.operands[0];
    } else {
      return false;
    }
  } else {
    return false;
  }
  const auto value = polynomial(*amount);
  if (!value) return false;
  if (const auto constant = value->as_constant()) {
    loop.step = constant;
    return *constant > 0;
  }
  loop.step_expr = amount;
  return surely_positive(*value);
}

/// Does running `statement` leave the value of `bound` alone?
bool keeps_value(const Expr& bound, const Effects& body, const Variable& loop_variable) {
  bool kept = true;
  for_each_expr(bound, [&](const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kVariable:
        if (expr.variable == &loop_variable || body.writes.count(expr.variable) != 0) kept = false;
        if (expr.variable->address_taken && (body.writes_memory || body.unknown)) kept = false;
        if (expr.variable->storage == Variable::Storage::kShared && body.synchronises) kept = false;
        break;
      case Expr::Kind::kAssign:
      case Expr::Kind::kCall:
        if (expr.kind == Expr::Kind::kAssign || !expr.intrinsic ||
            (expr.text != "min" && expr.text != "max")) {
          kept = false;
        }
        break;
      case Expr::Kind::kSubscript:
        if (body.writes_memory || body.synchronises || body.unknown) kept = false;
        break;
      case Expr::Kind::kUnary:
        if (expr.text.size() == 3) kept = false;
        if (expr.text == "*" && (body.writes_memory || body.synchronises || body.unknown)) {
          kept = false;
        }
        break;
      case Expr::Kind::kOther:
        if (!expr.constant) kept = false;
        break;
      default:
        break;
    }
  });
  return kept;
}

/// A `break` of this very loop, which effects_of() does not count as leaving the statement.
bool breaks_out(const Stmt& loop) {
  bool found = false;
  for_each_node(
      loop,
      [&](const Stmt& inner) {
        if (inner.kind != Stmt::Kind::kBreak) return;
        const Stmt* target = inner.parent;
        while (!is_loop(*target) && target->kind != Stmt::Kind::kSwitch) target = target->parent;
        if (target == &loop) found = true;
      },
      [](const Expr&) {});
  return found;
}

std::unique_ptr<Loop> canonical(const Stmt& statement) {
  if (statement.init == nullptr || statement.init->kind != Stmt::Kind::kDeclaration ||
      statement.init->variables.size() != 1 || statement.expr == nullptr ||
      statement.children.empty()) {
    return nullptr;
  }
  auto loop = std::make_unique<Loop>();
  loop->statement = &statement;
  loop->variable = statement.init->variables[0];
  loop->body = statement.children[0];
  const Variable& variable = *loop->variable;
  if (!variable.type.is_integer() || variable.init == nullptr || variable.address_taken ||
      variable.writes != 1) {
    return nullptr;
  }
  loop->lower = variable.init;
  const Expr& condition = without_casts(*statement.expr);
  if (condition.kind != Expr::Kind::kBinary) return nullptr;
  const bool forward = condition.text == "<" || condition.text == "<=";
  const bool backward = condition.text == ">" || condition.text == ">=";
  if (forward && is_use_of(*condition.operands[0], variable)) {
    loop->upper = condition.operands[1];
  } else if (backward && is_use_of(*condition.operands[1], variable)) {
    loop->upper = condition.operands[0];
  } else {
    return nullptr;
  }
  loop->inclusive = condition.text.size() == 2;
  if (!read_step(statement.step, *loop)) return nullptr;
  if (effects_of(statement).may_exit || breaks_out(statement)) return nullptr;
  const Effects body = effects_of(*loop->body);
  if (body.writes.count(&variable) != 0 || !keeps_value(*loop->upper, body, variable)) {
    return nullptr;
  }
  if (loop->step_expr != nullptr && !keeps_value(*loop->step_expr, body, variable)) return nullptr;
  return loop;
}

}  // namespace

std::vector<std::unique_ptr<Loop>> find_loops(const Function& function) {
  std::vector<std::unique_ptr<Loop>> loops;
  int count = 0;
  for (const Stmt* statement : function.all_statements) {
    if (statement->kind != Stmt::Kind::kFor) continue;
    const int number = count++;
    std::unique_ptr<Loop> loop = canonical(*statement);
    if (!loop) continue;
    loop->site = function.name + "/loop" + std::to_string(number);
    for (const auto& outer : loops) {
      if (is_inside(statement->parent, outer->statement)) loop->parent = outer.get();
    }
    loop->depth = loop->parent == nullptr ? 0 : loop->parent->depth + 1;
    loops.push_back(std::move(loop));
  }
  return loops;
}

}  // namespace hone::syntax
