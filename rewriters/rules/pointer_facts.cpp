#include "rewriters/rules/pointer_facts.h"

#include <algorithm>

#include "rewriters/syntax/parse.h"

namespace hone::rules {

using syntax::Access;
using syntax::Expr;
using syntax::KernelInfo;
using syntax::Polynomial;
using syntax::Variable;

const KernelInfo* ProgramFacts::find(std::string_view function_name) const {
  const KernelInfo* found = nullptr;
  for (const KernelInfo& kernel : kernels) {
    if (kernel.function->name != function_name) continue;
    if (found != nullptr) return nullptr;
    found = &kernel;
  }
  return found;
}

Result<ProgramFacts> facts_of(const Program& program) {
  ProgramFacts facts;
  auto unit = syntax::parse(program);
  if (!unit) return refused(unit.error().message);
  facts.unit = *unit;
  auto kernels = syntax::analyse(*facts.unit, program);
  if (!kernels) return refused(kernels.error().message);
  facts.kernels = std::move(*kernels);
  return facts;
}

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
  std::map<std::string, std::int64_t> known;
  for (const Variable* parameter : info.function->parameters) {
    if (!parameter->type.is_integer() || parameter->writes != 0 || parameter->address_taken)
      continue;
    if (const auto value = info.value_of(*parameter, sizes)) {
      known[syntax::symbol_of(*parameter)] = *value;
    }
  }
  const char* axes[] = {".x", ".y", ".z"};
  const auto block = info.block_dim(sizes);
  const auto grid = info.grid_dim(sizes);
  for (int axis = 0; axis < 3; ++axis) {
    if (block) known[std::string("blockDim") + axes[axis]] = (*block)[axis];
    if (grid) known[std::string("gridDim") + axes[axis]] = (*grid)[axis];
  }
  std::int64_t total = 0;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    std::int64_t factor = coefficient % modulus;
    bool unknown = false;
    for (const std::string& symbol : monomial) {
      const auto value = known.find(symbol);
      if (value == known.end()) {
        unknown = true;
      } else {
        factor = factor * (value->second % modulus) % modulus;
      }
    }
    if (unknown && factor != 0) return std::nullopt;
    total = (total + factor) % modulus;
  }
  return (total + modulus) % modulus;
}

bool unconditional_within(const Expr& inner) {
  for (const Expr* expr = &inner; expr->parent != nullptr; expr = expr->parent) {
    const Expr& parent = *expr->parent;
    const bool decides =
        parent.kind == Expr::Kind::kConditional ||
        (parent.kind == Expr::Kind::kBinary && (parent.text == "&&" || parent.text == "||"));
    if (decides && parent.operands[0] != expr) return false;
  }
  return true;
}

std::optional<std::string> splice(const syntax::TranslationUnit& unit,
                                  const syntax::SourceRange& range,
                                  std::vector<Replacement> replacements) {
  if (!range.valid()) return std::nullopt;
  std::ranges::stable_sort(replacements, [](const Replacement& a, const Replacement& b) {
    if (a.range.begin != b.range.begin) return a.range.begin < b.range.begin;
    return a.range.end > b.range.end;
  });
  std::string result;
  int position = range.begin;
  for (const Replacement& replacement : replacements) {
    if (!range.contains(replacement.range)) return std::nullopt;
    if (replacement.range.begin < position) {
      if (replacement.range.end > position) return std::nullopt;  // a partial overlap
      continue;
    }
    result += unit.text({position, replacement.range.begin});
    result += replacement.text;
    position = replacement.range.end;
  }
  result += unit.text({position, range.end});
  return result;
}

Result<Program> with_source(const Program& program, std::string source) {
  Program result = program;
  result.source = std::move(source);
  if (auto unit = syntax::parse(result); !unit) {
    return refused("the rewritten source does not parse: " + unit.error().message);
  }
  return result;
}

}  // namespace hone::rules
