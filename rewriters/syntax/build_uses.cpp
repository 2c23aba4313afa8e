// Who reads and writes a variable, once the AST stands.
#include "rewriters/syntax/ast_builder.h"

namespace hone::syntax {

using clang::dyn_cast;
using clang::isa;

void Builder::count_uses() {
  for (const Expr* expr : bound_) const_cast<Expr*>(expr)->bound = true;
  for (Expr& expr : store_.exprs) {
    if (expr.kind != Expr::Kind::kVariable) continue;
    auto& variable = *const_cast<Variable*>(expr.variable);
    if (captured_.count(&variable) != 0) variable.address_taken = true;
    // Climb from `v` in `v.x[1] = …` to the whole lvalue; a pointer's element is memory, not v.
    const Expr* place = &expr;
    bool in_memory = false;
    while (place->parent != nullptr && bound_.count(place) == 0) {
      const Expr* up = place->parent;
      if (up->kind == Expr::Kind::kMember) {
        place = up;
      } else if (up->kind == Expr::Kind::kSubscript && up->operands[0] == place) {
        if (place->type.kind != Type::Kind::kArray) in_memory = true;
        place = up;
      } else {
        break;
      }
    }
    const Expr* user = place->parent;
    const bool is_array = place->type.kind == Type::Kind::kArray;
    if (in_memory) {
      ++variable.reads;
    } else if (bound_.count(place) != 0) {
      variable.address_taken = true;
      ++variable.reads;
    } else if (user != nullptr && user->kind == Expr::Kind::kAssign && user->operands[0] == place) {
      ++variable.writes;
      variable.write_sites.push_back(user);
      if (user->text != "=") ++variable.reads;
    } else if (user != nullptr && user->kind == Expr::Kind::kUnary && user->text.size() == 3) {
      ++variable.writes;
      variable.write_sites.push_back(user);
      ++variable.reads;
    } else if (user != nullptr && user->kind == Expr::Kind::kUnary && user->text == "&") {
      variable.address_taken = true;
      ++variable.reads;
    } else {
      ++variable.reads;
      // An array that decays to a pointer may be written through it.
      if (is_array && (user == nullptr || user->kind != Expr::Kind::kSubscript)) {
        variable.address_taken = true;
      }
    }
  }
}

}  // namespace hone::syntax
