#include "rewriters/rules/memory/pointer_facts.h"

#include <algorithm>

#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::memory {

// NOLINTNEXTLINE(google-build-using-namespace): the tools this room shares.
using namespace coop;
using syntax::Access;
using syntax::Expr;
using syntax::KernelInfo;
using syntax::Polynomial;
using syntax::Variable;

namespace {

bool same_element(const syntax::Type& a, const syntax::Type& b) {
  return a.is_pointer() && b.is_pointer() && a.element && b.element &&
         a.element->name == b.element->name && a.element->kind == b.element->kind;
}

std::optional<PointerOrigin> origin_of_expr(const Expr& expr, int depth) {
  if (depth > 16) return std::nullopt;
  switch (expr.kind) {
    case Expr::Kind::kVariable: {
      if (expr.variable == nullptr) return std::nullopt;
      const Variable& variable = *expr.variable;
      if (!variable.type.is_pointer() || variable.address_taken || variable.writes != 0) {
        return std::nullopt;
      }
      if (variable.storage == Variable::Storage::kParameter) {
        return PointerOrigin{&variable, Polynomial::constant(0)};
      }
      if (variable.storage != Variable::Storage::kLocal || !variable.single_assignment()) {
        return std::nullopt;
      }
      if (!same_element(variable.type, variable.init->type)) return std::nullopt;
      return origin_of_expr(*variable.init, depth + 1);
    }
    case Expr::Kind::kCast:
      if (!same_element(expr.type, expr.operands[0]->type)) return std::nullopt;
      return origin_of_expr(*expr.operands[0], depth + 1);
    case Expr::Kind::kBinary: {
      if (expr.text != "+" && expr.text != "-") return std::nullopt;
      const Expr* pointer = expr.operands[0];
      const Expr* index = expr.operands[1];
      if (expr.text == "+" && index->type.is_pointer()) std::swap(pointer, index);
      if (!pointer->type.is_pointer() || index->type.is_pointer()) return std::nullopt;
      auto origin = origin_of_expr(*pointer, depth + 1);
      const auto offset = syntax::polynomial(*index);
      if (!origin || !offset) return std::nullopt;
      origin->offset = expr.text == "+" ? origin->offset + *offset : origin->offset - *offset;
      return origin;
    }
    case Expr::Kind::kUnary: {
      if (expr.text != "&") return std::nullopt;
      const Expr& target = *expr.operands[0];
      if (target.kind != Expr::Kind::kSubscript) return std::nullopt;
      auto origin = origin_of_expr(*target.operands[0], depth + 1);
      const auto offset = syntax::polynomial(*target.operands[1]);
      if (!origin || !offset) return std::nullopt;
      origin->offset = origin->offset + *offset;
      return origin;
    }
    default:
      return std::nullopt;
  }
}

/// Does this use of a pointer end in a listed access or in another pointer that is followed?
bool use_is_seen(const KernelInfo& info, const Expr& use) {
  const Expr* pointer = &use;
  while (true) {
    const Expr* parent = pointer->parent;
    if (parent == nullptr) {
      const syntax::Stmt* statement = pointer->statement;
      if (statement == nullptr || statement->kind != syntax::Stmt::Kind::kDeclaration) return false;
      return std::ranges::any_of(statement->variables, [&](const Variable* variable) {
        return variable->init == pointer && origin_of(*variable).has_value();
      });
    }
    switch (parent->kind) {
      case Expr::Kind::kCast:
        if (!same_element(parent->type, pointer->type)) return false;
        break;
      case Expr::Kind::kBinary:
        if (!parent->type.is_pointer()) return false;
        break;
      case Expr::Kind::kSubscript:
        if (parent->operands[0] != pointer) return false;
        if (parent->parent == nullptr || parent->parent->kind != Expr::Kind::kUnary ||
            parent->parent->text != "&") {
          return true;
        }
        parent = parent->parent;  // &p[i] is a pointer again
        break;
      case Expr::Kind::kUnary:
        return parent->text == "*";
      case Expr::Kind::kCall:
        return std::ranges::any_of(info.accesses,
                                   [&](const Access& access) { return access.expr == parent; });
      default:
        return false;
    }
    pointer = parent;
  }
}

}  // namespace

std::optional<PointerOrigin> origin_of(const Variable& pointer) {
  Expr use;
  use.kind = Expr::Kind::kVariable;
  use.variable = &pointer;
  return origin_of_expr(use, 0);
}

bool escapes(const KernelInfo& info, const Variable& parameter) {
  for (const Expr* expr : info.function->all_expressions) {
    if (expr->kind != Expr::Kind::kVariable || expr->variable == nullptr ||
        !expr->variable->type.is_pointer()) {
      continue;
    }
    const Variable& variable = *expr->variable;
    if (&variable != &parameter) {
      const auto origin = origin_of(variable);
      if (origin && origin->parameter != &parameter) continue;
      // A pointer that cannot be followed was itself made from an escaping use, seen elsewhere.
      if (!origin) continue;
    }
    if (!use_is_seen(info, *expr)) return true;
  }
  return false;
}

bool read_only(const KernelInfo& info, const Variable& parameter) {
  if (info.has_unknown) return false;
  for (const Variable* other : info.function->parameters) {
    if (!other->type.is_pointer()) continue;
    const bool related = other == &parameter || info.may_alias(parameter, *other);
    if (related && (other->writes != 0 || escapes(info, *other))) return false;
  }
  for (const Access& access : info.accesses) {
    if (access.kind == Access::Kind::kRead) continue;
    if (access.base == nullptr) return false;
    if (!access.base->type.is_pointer()) continue;  // a local or shared array
    const auto origin = origin_of(*access.base);
    if (!origin) return false;
    if (origin->parameter == &parameter || info.may_alias(parameter, *origin->parameter)) {
      return false;
    }
  }
  return true;
}

std::optional<std::int64_t> residue(const Polynomial& polynomial, std::int64_t modulus,
                                    const KernelInfo& info, const Bindings& sizes) {
  std::int64_t total = 0;
  for (const auto& [monomial, coefficient] :
       at_sizes(polynomial, symbol_values(info, sizes)).terms) {
    const std::int64_t part = coefficient % modulus;
    if (!monomial.empty() && part != 0) return std::nullopt;
    total = (total + part) % modulus;
  }
  return (total + modulus) % modulus;
}

}  // namespace hone::rules::memory
