#include "rewriters/rules/common/index_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "rewriters/rules/common/kernel_text.h"

namespace hone::rules {

using syntax::Expr;
using syntax::Polynomial;
using syntax::Variable;

namespace {

constexpr int kDeepest = 64;  // chains of locals; far beyond what people write

bool is_comparison(const std::string& op) {
  return op == "<" || op == "<=" || op == ">" || op == ">=";
}

// Locals of this ending are clamps that flatten_guards() wrote, when they look like it.
constexpr std::string_view kClampSuffix = "_in";

std::optional<Interval> product(const Interval& a, const Interval& b) {
  std::array<std::int64_t, 4> corners{};
  const bool overflow = __builtin_mul_overflow(a.low, b.low, &corners[0]) ||
                        __builtin_mul_overflow(a.low, b.high, &corners[1]) ||
                        __builtin_mul_overflow(a.high, b.low, &corners[2]) ||
                        __builtin_mul_overflow(a.high, b.high, &corners[3]);
  if (overflow) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(corners);
  return Interval{low, high};
}

std::optional<Interval> sum(const Interval& a, const Interval& b) {
  Interval result;
  if (__builtin_add_overflow(a.low, b.low, &result.low) ||
      __builtin_add_overflow(a.high, b.high, &result.high)) {
    return std::nullopt;
  }
  return result;
}

}  // namespace

IndexSpace::IndexSpace(const syntax::KernelInfo& info, const Bindings& sizes)
    : info_(&info), sizes_(sizes) {
  if (const auto block = info.block_dim(sizes)) {
    block_ = {
        {"blockDim.x", (*block)[0]}, {"blockDim.y", (*block)[1]}, {"blockDim.z", (*block)[2]}};
  }
}

std::optional<Polynomial> IndexSpace::form(const Expr& expr) {
  if (depth_ > kDeepest) return std::nullopt;
  struct Depth {
    int& depth;
    explicit Depth(int& d) : depth(d) { ++depth; }
    ~Depth() { --depth; }
  } guard(depth_);

  if (expr.constant && expr.type.is_integer()) return Polynomial::constant(*expr.constant);
  switch (expr.kind) {
    case Expr::Kind::kIntLiteral:
    case Expr::Kind::kBoolLiteral:
      return Polynomial::constant(expr.int_value);
    case Expr::Kind::kBuiltin:
      if (auto found = block_.find(expr.text); found != block_.end()) {
        return Polynomial::constant(found->second);
      }
      return Polynomial::symbol(expr.text);
    case Expr::Kind::kVariable: {
      const Variable* variable = expr.variable;
      if (variable == nullptr || !variable->type.is_integer()) return std::nullopt;
      if (variable->storage == Variable::Storage::kLocal && variable->single_assignment()) {
        if (auto value = form(*variable->init)) {
          if (variable->name.ends_with(kClampSuffix) && value->terms.size() == 1) {
            for (const auto& symbol : value->symbols()) clamps_.insert(symbol);
          }
          return value;
        }
      }
      if (variable->storage != Variable::Storage::kLocal &&
          variable->storage != Variable::Storage::kParameter) {
        return std::nullopt;
      }
      const std::string symbol = syntax::symbol_of(*variable);
      variables_[symbol] = variable;
      return Polynomial::symbol(symbol);
    }
    case Expr::Kind::kCast:
      if (!expr.type.is_integer() || expr.operands.empty() ||
          !expr.operands[0]->type.is_integer() || expr.type.bytes < 4) {
        return std::nullopt;
      }
      return form(*expr.operands[0]);
    case Expr::Kind::kUnary: {
      if (expr.operands.empty() || (expr.text != "-" && expr.text != "+")) return std::nullopt;
      auto inner = form(*expr.operands[0]);
      if (!inner) return std::nullopt;
      return expr.text == "+" ? *inner : Polynomial::constant(0) - *inner;
    }
    case Expr::Kind::kBinary: {
      if (expr.operands.size() != 2) return std::nullopt;
      const auto left = form(*expr.operands[0]);
      const auto right = form(*expr.operands[1]);
      if (!left || !right) return std::nullopt;
      if (expr.text == "+") return *left + *right;
      if (expr.text == "-") return *left - *right;
      if (expr.text == "*") return *left * *right;
      const auto shift = right->as_constant();
      if (expr.text == "<<" && shift && *shift >= 0 && *shift < 31) {
        return *left * Polynomial::constant(std::int64_t{1} << *shift);
      }
      if (expr.text == "/" || expr.text == "%") {
        const auto a = left->as_constant();
        if (a && shift && *shift != 0) {
          return Polynomial::constant(expr.text == "/" ? *a / *shift : *a % *shift);
        }
        Atom atom;
        atom.kind = expr.text == "/" ? Atom::Kind::kDivide : Atom::Kind::kRemainder;
        atom.left = *left;
        atom.right = *right;
        return atom_symbol(atom);
      }
      return std::nullopt;
    }
    case Expr::Kind::kConditional: {
      const Expr& condition = strip_casts(*expr.operands[0]);
      if (condition.kind != Expr::Kind::kBinary || !is_comparison(condition.text)) {
        return std::nullopt;
      }
      const auto left = form(*condition.operands[0]);
      const auto right = form(*condition.operands[1]);
      const auto chosen = form(*expr.operands[1]);
      const auto other = form(*expr.operands[2]);
      if (!left || !right || !chosen || !other) return std::nullopt;
      Atom atom;
      atom.kind = Atom::Kind::kSelect;
      atom.op = condition.text;
      atom.left = *left;
      atom.right = *right;
      atom.chosen = *chosen;
      atom.other = *other;
      return atom_symbol(atom);
    }
    case Expr::Kind::kCall: {
      if ((expr.text != "min" && expr.text != "max") || expr.operands.size() != 2) {
        return std::nullopt;
      }
      const auto left = form(*expr.operands[0]);
      const auto right = form(*expr.operands[1]);
      if (!left || !right) return std::nullopt;
      Atom atom;
      atom.kind = Atom::Kind::kSelect;
      atom.op = expr.text == "min" ? "<" : ">";
      atom.left = atom.chosen = *left;
      atom.right = atom.other = *right;
      return atom_symbol(atom);
    }
    default:
      return std::nullopt;
  }
}

std::optional<IndexSpace::Address> IndexSpace::address(const Expr& pointer) {
  const Expr& expr = strip_casts(pointer);
  // A cast to another element type changes what the offset counts.
  if (pointer.kind == Expr::Kind::kCast && pointer.type.is_pointer() && pointer.type.element &&
      expr.type.is_pointer() && expr.type.element &&
      pointer.type.element->name != expr.type.element->name) {
    return std::nullopt;
  }
  if (expr.kind == Expr::Kind::kVariable && expr.variable != nullptr) {
    const Variable& variable = *expr.variable;
    if (!variable.type.is_pointer()) return std::nullopt;
    if (variable.storage == Variable::Storage::kParameter && variable.writes == 0 &&
        !variable.address_taken) {
      return Address{&variable, Polynomial::constant(0), nullptr};
    }
    if (variable.storage == Variable::Storage::kLocal && variable.single_assignment()) {
      return address(*variable.init);
    }
    return std::nullopt;
  }
  if (expr.kind == Expr::Kind::kBinary && (expr.text == "+" || expr.text == "-") &&
      expr.operands.size() == 2) {
    const bool swapped = expr.text == "+" && !expr.operands[0]->type.is_pointer();
    auto base = address(*expr.operands[swapped ? 1 : 0]);
    const auto offset = form(*expr.operands[swapped ? 0 : 1]);
    if (!base || !offset) return std::nullopt;
    base->offset = expr.text == "+" ? base->offset + *offset : base->offset - *offset;
    return base;
  }
  if (expr.kind == Expr::Kind::kUnary && expr.text == "&" && !expr.operands.empty()) {
    return element(*expr.operands[0]);
  }
  return std::nullopt;
}

std::optional<IndexSpace::Address> IndexSpace::element(const Expr& lvalue) {
  std::optional<Address> result;
  if (lvalue.kind == Expr::Kind::kSubscript && lvalue.operands.size() == 2) {
    result = address(*lvalue.operands[0]);
    const auto index = form(*lvalue.operands[1]);
    if (!result || !index) return std::nullopt;
    result->offset = result->offset + *index;
  } else if (lvalue.kind == Expr::Kind::kUnary && lvalue.text == "*" && !lvalue.operands.empty()) {
    result = address(*lvalue.operands[0]);
  }
  if (result) result->lvalue = &lvalue;
  return result;
}

const IndexSpace::Atom* IndexSpace::atom(const std::string& symbol) const {
  if (symbol.empty() || symbol[0] != '@') return nullptr;
  return &atoms_[static_cast<std::size_t>(std::stoul(symbol.substr(1)))];
}

Polynomial IndexSpace::atom_symbol(const Atom& atom) {
  const auto found = std::ranges::find(atoms_, atom);
  const auto index = found - atoms_.begin();
  if (found == atoms_.end()) atoms_.push_back(atom);
  return Polynomial::symbol(fmt::format("@{}", index));
}

bool IndexSpace::symbol_uses(const std::string& symbol,
                             const std::set<std::string>& symbols) const {
  if (symbols.contains(symbol)) return true;
  const Atom* inner = atom(symbol);
  return inner != nullptr && (uses(inner->left, symbols) || uses(inner->right, symbols) ||
                              uses(inner->chosen, symbols) || uses(inner->other, symbols));
}

bool IndexSpace::uses(const Polynomial& polynomial, const std::set<std::string>& symbols) const {
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    for (const auto& symbol : monomial) {
      if (symbol_uses(symbol, symbols)) return true;
    }
  }
  return false;
}

/// Bottom-up over atoms: `visit` turns a polynomial whose atoms are done into another.
template <class F>
Polynomial IndexSpace::rebuild(const Polynomial& polynomial, const F& visit) {
  Polynomial result;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    Polynomial term = Polynomial::constant(coefficient);
    for (const auto& symbol : monomial) {
      const Atom* known = atom(symbol);
      if (known == nullptr) {
        term = term * Polynomial::symbol(symbol);
        continue;
      }
      Atom copy = *known;  // interning below may move the atoms
      for (Polynomial* part : {&copy.left, &copy.right, &copy.chosen, &copy.other}) {
        *part = rebuild(*part, visit);
      }
      term = term * atom_symbol(copy);
    }
    result = result + term;
  }
  return visit(result);
}

Polynomial IndexSpace::replace(const Polynomial& polynomial,
                               const std::map<std::string, Polynomial>& values) {
  return rebuild(polynomial, [&](const Polynomial& done) {
    Polynomial result;
    for (const auto& [monomial, coefficient] : done.terms) {
      Polynomial term = Polynomial::constant(coefficient);
      for (const auto& symbol : monomial) {
        const auto value = values.find(symbol);
        term = term * (value == values.end() ? Polynomial::symbol(symbol) : value->second);
      }
      result = result + term;
    }
    return result;
  });
}

Polynomial IndexSpace::replace_part(const Polynomial& polynomial, const Polynomial& part,
                                    const Polynomial& value) {
  return rebuild(polynomial, [&](const Polynomial& done) {
    for (const auto& [monomial, coefficient] : part.terms) {
      const auto found = done.terms.find(monomial);
      if (found == done.terms.end() || found->second != coefficient) return done;
    }
    return done - part + value;
  });
}

std::set<std::string> IndexSpace::plain_symbols(const Polynomial& polynomial) const {
  std::set<std::string> result;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    for (const auto& symbol : monomial) {
      if (const Atom* inner = atom(symbol)) {
        for (const Polynomial* part :
             {&inner->left, &inner->right, &inner->chosen, &inner->other}) {
          result.merge(plain_symbols(*part));
        }
      } else {
        result.insert(symbol);
      }
    }
  }
  return result;
}

std::optional<Interval> IndexSpace::range(const Polynomial& polynomial,
                                          const Ranges& ranges) const {
  Interval total;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    Interval term{coefficient, coefficient};
    for (const auto& symbol : monomial) {
      std::optional<Interval> factor;
      if (const Atom* inner = atom(symbol)) {
        const auto left = range(inner->left, ranges);
        const auto right = range(inner->right, ranges);
        if (!left || !right) return std::nullopt;
        if (inner->kind == Atom::Kind::kSelect) {
          const auto chosen = range(inner->chosen, ranges);
          const auto other = range(inner->other, ranges);
          if (!chosen || !other) return std::nullopt;
          factor = Interval{std::min(chosen->low, other->low), std::max(chosen->high, other->high)};
          // min(v, b) and max(v, b), the usual clamps, are tighter than the union.
          const bool less = inner->op[0] == '<';
          if (inner->chosen == inner->left && less) {
            factor->high = std::max(other->high, right->high - (inner->op == "<" ? 1 : 0));
          } else if (inner->chosen == inner->left) {
            factor->low = std::min(other->low, right->low + (inner->op == ">" ? 1 : 0));
          }
          if (factor->low > factor->high) return std::nullopt;
        } else {
          if (left->low < 0 || right->low <= 0) return std::nullopt;
          if (left->low == left->high && right->low == right->high) {
            const bool divide = inner->kind == Atom::Kind::kDivide;
            const std::int64_t value = divide ? left->low / right->low : left->low % right->low;
            factor = Interval{value, value};
          } else if (inner->kind == Atom::Kind::kDivide) {
            factor = Interval{left->low / right->high, left->high / right->low};
          } else if (left->high < right->low) {
            factor = *left;
          } else {
            factor = Interval{0, std::min(left->high, right->high - 1)};
          }
        }
      } else {
        const auto found = ranges.find(symbol);
        if (found == ranges.end()) return std::nullopt;
        factor = found->second;
      }
      const auto scaled = product(term, *factor);
      if (!scaled) return std::nullopt;
      term = *scaled;
    }
    const auto next = sum(total, term);
    if (!next) return std::nullopt;
    total = *next;
  }
  return total;
}

Ranges IndexSpace::launch_ranges(const std::array<std::int64_t, 3>& grid_factors) const {
  Ranges result;
  const auto block = info_->block_dim(sizes_);
  const auto grid = info_->grid_dim(sizes_);
  static constexpr std::array kAxes = {"x", "y", "z"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (block) result[fmt::format("threadIdx.{}", kAxes[axis])] = {0, (*block)[axis] - 1};
    if (grid) {
      const std::int64_t factor = grid_factors[axis];
      const std::int64_t blocks = ((*grid)[axis] + factor - 1) / factor * factor;
      result[fmt::format("blockIdx.{}", kAxes[axis])] = {0, blocks - 1};
      result[fmt::format("gridDim.{}", kAxes[axis])] = {(*grid)[axis], (*grid)[axis]};
    }
  }
  for (const Variable* parameter : info_->function->parameters) {
    if (!parameter->type.is_integer() || parameter->writes > 0 || parameter->address_taken) {
      continue;
    }
    if (const auto value = info_->value_of(*parameter, sizes_)) {
      result[syntax::symbol_of(*parameter)] = {*value, *value};
    }
  }
  return result;
}

const Variable* IndexSpace::variable(const std::string& symbol) const {
  const auto found = variables_.find(symbol);
  return found == variables_.end() ? nullptr : found->second;
}

std::string IndexSpace::symbol_text(const std::string& symbol, bool as_int) const {
  if (const auto named = names_.find(symbol); named != names_.end()) return named->second;
  if (const Atom* inner = atom(symbol)) {
    switch (inner->kind) {
      case Atom::Kind::kDivide:
        return fmt::format("({} / {})", operand_text(inner->left, as_int),
                           operand_text(inner->right, as_int));
      case Atom::Kind::kRemainder:
        return fmt::format("({} % {})", operand_text(inner->left, as_int),
                           operand_text(inner->right, as_int));
      case Atom::Kind::kSelect:
        return fmt::format("({} {} {} ? {} : {})", text(inner->left, false, true), inner->op,
                           text(inner->right, false, true), text(inner->chosen, false, true),
                           text(inner->other, false, true));
    }
  }
  if (const Variable* known = variable(symbol)) return known->name;
  return as_int ? "(int)" + symbol : symbol;
}

std::string IndexSpace::operand_text(const Polynomial& polynomial, bool as_int) const {
  const std::string result = text(polynomial, false, as_int);
  const auto constant = polynomial.as_constant();
  const bool symbol = polynomial.terms.size() == 1 && polynomial.terms.begin()->second == 1 &&
                      polynomial.terms.begin()->first.size() == 1;
  return symbol || (constant && *constant >= 0) ? result : "(" + result + ")";
}

std::string IndexSpace::monomial_text(const Polynomial::Monomial& monomial,
                                      std::int64_t coefficient, bool wide, bool as_int) const {
  std::string result;
  for (const auto& symbol : monomial) {
    if (!result.empty()) result += " * ";
    if (wide && result.empty()) result += "(long long)";
    result += symbol_text(symbol, as_int && !(wide && result.empty()));
  }
  if (result.empty()) return fmt::format("{}{}", coefficient, wide ? "LL" : "");
  if (coefficient != 1) result += fmt::format(" * {}", coefficient);
  return result;
}

std::string IndexSpace::text(const Polynomial& polynomial, bool wide, bool as_int) const {
  for (const auto& [monomial, coefficient] : polynomial.terms) as_int = as_int || coefficient < 0;
  std::string result;
  for (const bool negative : {false, true}) {  // reads like what people write
    for (auto term = polynomial.terms.rbegin(); term != polynomial.terms.rend(); ++term) {
      const auto& [monomial, coefficient] = *term;
      if ((coefficient < 0) != negative) continue;
      if (negative) {
        result += result.empty() ? "-" : " - ";
      } else if (!result.empty()) {
        result += " + ";
      }
      result += monomial_text(monomial, negative ? -coefficient : coefficient, wide, as_int);
    }
  }
  return result.empty() ? "0" : result;
}

}  // namespace hone::rules
