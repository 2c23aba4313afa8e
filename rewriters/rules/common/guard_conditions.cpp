#include "rewriters/rules/common/guard_conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hone::rules {

using syntax::Expr;
using syntax::Polynomial;
using syntax::Variable;

namespace {

std::string flipped(const std::string& op) {
  if (op == "<") return ">";
  if (op == "<=") return ">=";
  if (op == ">") return "<";
  return "<=";
}

std::string negated(const std::string& op) {
  if (op == "<") return ">=";
  if (op == "<=") return ">";
  if (op == ">") return "<=";
  return "<";
}

bool is_comparison(const Expr& expr) {
  return expr.kind == Expr::Kind::kBinary &&
         (expr.text == "<" || expr.text == "<=" || expr.text == ">" || expr.text == ">=");
}
}  // namespace

Result<void> GuardConditions::read_condition(const Expr& condition, bool negate,
                                             std::vector<Conjunct>& out) {
  const Expr& expr = strip_casts(condition);
  if (expr.kind == Expr::Kind::kUnary && expr.text == "!") {
    return read_condition(*expr.operands[0], !negate, out);
  }
  if (expr.kind == Expr::Kind::kBinary && expr.text == (negate ? "||" : "&&")) {
    auto first = read_condition(*expr.operands[0], negate, out);
    return first ? read_condition(*expr.operands[1], negate, out) : first;
  }
  if (!is_comparison(expr)) return refused("the guard is not a conjunction of comparisons");
  const std::string op = negate ? negated(expr.text) : expr.text;
  if (auto found = conjunct(*expr.operands[0], op, *expr.operands[1])) {
    out.push_back(*found);
  } else if (auto turned = conjunct(*expr.operands[1], flipped(op), *expr.operands[0])) {
    out.push_back(*turned);
  } else {
    return refused(fmt::format("no clamp stands for the guard `{}`", unit_.text(expr.range)));
  }
  return {};
}

std::optional<Conjunct> GuardConditions::conjunct(const Expr& left, const std::string& op,
                                                  const Expr& right) {
  Conjunct result;
  std::int64_t offset = 0;
  const Expr* lhs = &strip_casts(left);
  if (lhs->kind == Expr::Kind::kBinary && (lhs->text == "+" || lhs->text == "-") &&
      lhs->operands[1]->constant) {
    offset = lhs->text == "+" ? *lhs->operands[1]->constant : -*lhs->operands[1]->constant;
    lhs = &strip_casts(*lhs->operands[0]);
  }
  result.variable = as_variable(*lhs);
  if (result.variable == nullptr || !result.variable->type.is_integer() ||
      result.variable->storage != Variable::Storage::kLocal ||
      !result.variable->single_assignment()) {
    return std::nullopt;
  }
  const auto form = space_.form(*lhs);
  const auto bound = space_.form(right);
  if (!form || !bound || info_.varies_by_thread(right) || info_.varies_by_block(right)) {
    return std::nullopt;
  }
  const auto bound_value = space_.range(*bound, ranges_);
  const auto reach = space_.range(*form, ranges_);
  if (!bound_value || bound_value->low != bound_value->high || !reach) return std::nullopt;
  result.form = *form;
  result.axis = dense_axis(*form);
  if (result.axis < 0) return std::nullopt;

  result.upper = op[0] == '<';
  const bool strict = op.size() == 1;
  const std::int64_t step = strict ? (result.upper ? -1 : 1) : 0;
  const std::int64_t limit = bound_value->low - offset + step;
  if (result.upper ? limit < reach->low : limit > reach->high) return std::nullopt;

  const std::string left_text{unit_.text(left.range)};
  const std::string right_text{unit_.text(right.range)};
  if (left_text.empty() || right_text.empty()) return std::nullopt;
  result.text = fmt::format("{} {} {}", left_text, op, right_text);
  const auto* atom = single_atom(*form);
  if (atom != nullptr && atom->kind == IndexSpace::Atom::Kind::kRemainder && result.upper &&
      strict && offset == 0 && atom->right == *bound) {
    result.always = true;  // idx % N < N
    return result;
  }
  if (atom != nullptr && atom->kind == IndexSpace::Atom::Kind::kDivide && result.upper &&
      offset == 0) {
    if (auto flat = flat_conjunct(result, *atom, right, strict, bound_value->low)) return flat;
  }
  result.clamp_value = is_simple(right) ? right_text : "(" + right_text + ")";
  if (const auto shift = step - offset; shift != 0) {
    result.clamp_value += fmt::format(" {} {}", shift < 0 ? '-' : '+', std::abs(shift));
  }
  Ranges widened = space_.launch_ranges(options_.factors);
  const auto new_reach = space_.range(*form, widened);
  result.always = context_.task != nullptr && context_.task->specialize && new_reach &&
                  (result.upper ? new_reach->high <= limit : new_reach->low >= limit);
  result.closes_axis = result.upper && limit <= reach->high && !has_atom(*form);
  return result;
}

const IndexSpace::Atom* GuardConditions::single_atom(const Polynomial& form) const {
  const bool single = form.terms.size() == 1 && form.terms.begin()->second == 1 &&
                      form.terms.begin()->first.size() == 1;
  return single ? space_.atom(form.terms.begin()->first[0]) : nullptr;
}

std::optional<Conjunct> GuardConditions::flat_conjunct(Conjunct conjunct,
                                                       const IndexSpace::Atom& quotient,
                                                       const Expr& bound, bool strict,
                                                       std::int64_t value) {
  const IndexSpace::Atom atom = quotient;
  const auto divisor = space_.range(atom.right, ranges_);
  const auto reach = space_.range(atom.left, ranges_);
  if (!divisor || divisor->low != divisor->high || divisor->low < 1 || !reach) {
    return std::nullopt;
  }
  const Variable* flat = nullptr;
  for (const Variable* local : function_.locals) {
    if (!local->type.is_integer() || !local->single_assignment()) continue;
    const auto form = space_.form(*local->init);
    if (form && *form == atom.left) flat = local;
  }
  if (flat == nullptr) return std::nullopt;
  const std::int64_t limit = (strict ? value : value + 1) * divisor->low - 1;
  if (limit < reach->low) return std::nullopt;
  conjunct.variable = flat;
  conjunct.form = atom.left;
  std::string rows{unit_.text(bound.range)};
  if (!strict) rows += " + 1";
  if (!strict || !is_simple(bound)) rows = "(" + rows + ")";
  std::string columns = space_.text(atom.right);
  if (atom.right.terms.size() > 1) columns = "(" + columns + ")";
  conjunct.clamp_value = fmt::format("{} * {} - 1", rows, columns);
  const auto new_reach = space_.range(atom.left, space_.launch_ranges(options_.factors));
  conjunct.always = context_.task != nullptr && context_.task->specialize && new_reach &&
                    new_reach->high <= limit;
  conjunct.closes_axis = limit <= reach->high && !has_atom(atom.left);
  return conjunct;
}

bool GuardConditions::is_simple(const Expr& expr) {
  const Expr& inner = strip_casts(expr);
  return inner.kind == Expr::Kind::kVariable || inner.kind == Expr::Kind::kIntLiteral;
}

bool GuardConditions::has_atom(const Polynomial& form) const {
  return std::ranges::any_of(form.symbols(),
                             [&](const auto& symbol) { return space_.atom(symbol) != nullptr; });
}

int GuardConditions::dense_axis(const Polynomial& form) const {
  if (form.terms.size() == 1 && form.terms.begin()->second == 1 &&
      form.terms.begin()->first.size() == 1) {
    // idx / N and idx % N of a dense idx are dense too.
    if (const auto* atom = space_.atom(form.terms.begin()->first[0]);
        atom != nullptr && atom->kind != IndexSpace::Atom::Kind::kSelect) {
      const auto divisor = space_.range(atom->right, ranges_);
      if (!divisor || divisor->low != divisor->high || divisor->low <= 0) return -1;
      return dense_axis(atom->left);
    }
  }
  const auto block = info_.block_dim(context_.sizes);
  const auto grid = info_.grid_dim(context_.sizes);
  if (!block || !grid) return -1;
  int axis = -1;
  std::array<std::int64_t, 2> coefficients{0, 0};  // of threadIdx, of blockIdx
  for (const auto& [monomial, coefficient] : form.terms) {
    bool launch_symbol = false;
    for (const auto& symbol : monomial) {
      if (space_.atom(symbol) != nullptr) return -1;
      for (int a = 0; a < 3; ++a) {
        const bool thread = symbol == fmt::format("threadIdx.{}", kAxes[a]);
        const bool block_symbol = symbol == fmt::format("blockIdx.{}", kAxes[a]);
        if (!thread && !block_symbol) continue;
        if (monomial.size() != 1 || (axis >= 0 && axis != a)) return -1;
        axis = a;
        launch_symbol = true;
        coefficients[thread ? 0 : 1] = coefficient;
      }
    }
    if (!launch_symbol && !space_.range(Polynomial{{{monomial, coefficient}}}, ranges_)) return -1;
  }
  if (axis < 0) return -1;
  const std::int64_t threads = (*block)[axis];
  const bool by_thread = coefficients[0] == 1 || threads == 1;
  const bool by_block = coefficients[1] == (coefficients[0] == 0 ? 1 : threads);
  const bool one_block = coefficients[1] == 0 || (*grid)[axis] == 1;
  if (by_thread && (by_block || one_block)) return axis;
  return coefficients[0] == 0 && coefficients[1] == 1 ? axis : -1;
}

Result<void> GuardConditions::check_axes(const std::vector<Conjunct>& conjuncts) const {
  for (const auto& a : conjuncts) {
    for (const auto& b : conjuncts) {
      if (a.axis != b.axis || a.variable == b.variable || a.always || b.always) continue;
      if (!quotient_and_remainder(a.form, b.form) && !quotient_and_remainder(b.form, a.form)) {
        return refused(fmt::format("the guard bounds both {} and {} of one launch axis",
                                   a.variable->name, b.variable->name));
      }
    }
  }
  return {};
}

bool GuardConditions::quotient_and_remainder(const Polynomial& a, const Polynomial& b) const {
  if (a.terms.size() != 1 || b.terms.size() != 1) return false;
  const auto& first = a.terms.begin()->first;
  const auto& second = b.terms.begin()->first;
  if (first.size() != 1 || second.size() != 1) return false;
  const auto* quotient = space_.atom(first[0]);
  const auto* remainder = space_.atom(second[0]);
  return quotient != nullptr && remainder != nullptr &&
         quotient->kind == IndexSpace::Atom::Kind::kDivide &&
         remainder->kind == IndexSpace::Atom::Kind::kRemainder &&
         quotient->left == remainder->left && quotient->right == remainder->right;
}

}  // namespace hone::rules
