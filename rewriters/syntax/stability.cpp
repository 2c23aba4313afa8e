#include "rewriters/syntax/stability.h"

#include "rewriters/syntax/walk.h"

namespace hone::syntax {

bool init_is_stable(const Variable& variable) {
  if (variable.init == nullptr || variable.statement == nullptr) return false;
  const Stmt* scope = variable.statement->parent;
  bool stable = true;
  for_each_expr(*variable.init, [&](const Expr& expr) {
    if (expr.kind == Expr::Kind::kAssign || expr.bound ||
        (expr.kind == Expr::Kind::kUnary && expr.text.size() == 3)) {
      stable = false;  // evaluating it twice would do something twice
    }
    if (expr.kind != Expr::Kind::kVariable) return;
    const Variable& read = *expr.variable;
    if (read.writes == 0 && !read.address_taken) return;
    if (read.type.kind == Type::Kind::kArray) return;  // its address does not change
    if (read.address_taken) stable = false;
    for (const Expr* write : read.write_sites) {
      if (is_inside(write->statement, scope)) stable = false;
    }
  });
  return stable;
}

}  // namespace hone::syntax
