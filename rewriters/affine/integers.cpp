// Integers as sums over atoms: quotients and remainders that vanish, and what a sum can be.
#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/node.h"

namespace hone::nest {

Ref Nodes::sum(std::int64_t constant, std::vector<Term> terms) {
  std::map<int, Term> by_id;
  const std::function<void(std::int64_t, Ref)> take = [&](std::int64_t coefficient, Ref atom) {
    if (atom->kind == Node::Kind::kSum) {
      constant += coefficient * atom->constant;
      for (const Term& term : atom->terms) take(coefficient * term.coefficient, term.atom);
      return;
    }
    Term& slot = by_id[atom->id];
    slot.atom = atom;
    slot.coefficient += coefficient;
  };
  for (const Term& term : terms) take(term.coefficient, term.atom);
  // d * (x / d) + x % d is x.
  for (bool again = true; again;) {
    again = false;
    for (auto& [id, term] : by_id) {
      if (term.coefficient == 0 || !term.atom->is(Op::kMod)) continue;
      const Ref value = term.atom->args[0], divisor = term.atom->args[1];
      for (auto& [other_id, other] : by_id) {
        if (!other.atom->is(Op::kDiv) || other.atom->args[0] != value ||
            other.atom->args[1] != divisor ||
            other.coefficient != term.coefficient * divisor->constant) {
          continue;
        }
        const std::int64_t coefficient = term.coefficient;
        term.coefficient = other.coefficient = 0;
        take(coefficient, value);
        again = true;
        break;
      }
      if (again) break;
    }
  }
  std::vector<Term> kept;
  for (const auto& [id, term] : by_id)
    if (term.coefficient != 0) kept.push_back(term);
  Node node;
  node.kind = Node::Kind::kSum;
  node.constant = constant;
  node.terms = std::move(kept);
  return make(std::move(node));
}

Ref Nodes::add(Ref a, Ref b) { return sum(0, {{1, a}, {1, b}}); }
Ref Nodes::subtract(Ref a, Ref b) { return sum(0, {{1, a}, {-1, b}}); }
Ref Nodes::scale(Ref a, std::int64_t factor) { return sum(0, {{factor, a}}); }

Ref Nodes::multiply(Ref a, Ref b) {
  if (a->is_constant()) return scale(b, a->constant);
  if (b->is_constant()) return scale(a, b->constant);
  if (a->id > b->id) std::swap(a, b);
  return operation(Op::kMul, ScalarType::kI64, {a, b});
}

Ref Nodes::quotient(Ref a, std::int64_t divisor, bool want_remainder) {
  const auto opaque = [&](Ref value, std::int64_t by) {
    const Op op = want_remainder ? Op::kMod : Op::kDiv;
    return operation(op, ScalarType::kI64, {value, integer(by)});
  };
  if (divisor == 0) return opaque(a, divisor);
  if (a->is_constant()) {
    return integer(want_remainder ? a->constant % divisor : a->constant / divisor);
  }
  if (divisor < 0) return opaque(a, divisor);
  if (divisor == 1) return want_remainder ? integer(0) : a;
  const auto whole = range(a);
  if (!whole || whole->low < 0) return opaque(a, divisor);
  if (whole->high < divisor) return want_remainder ? a : integer(0);
  if (a->terms.size() == 1 && a->constant == 0 && a->terms[0].coefficient == 1) {
    const Ref atom = a->terms[0].atom;
    const bool inner = atom->is(Op::kDiv, Op::kMod) && atom->args[1]->is_constant();
    if (inner && range(atom->args[0]) && range(atom->args[0])->low >= 0) {
      const std::int64_t by = atom->args[1]->constant;
      if (atom->is(Op::kDiv) && !want_remainder)
        return quotient(atom->args[0], by * divisor, false);
      if (atom->is(Op::kMod) && by % divisor == 0) {
        if (want_remainder) return quotient(atom->args[0], divisor, true);
        return quotient(quotient(atom->args[0], divisor, false), by / divisor, true);
      }
    }
  }
  std::vector<Term> multiple, rest;
  for (const Term& term : a->terms) {
    if (term.coefficient % divisor == 0) {
      multiple.push_back({term.coefficient / divisor, term.atom});
    } else {
      rest.push_back(term);
    }
  }
  const std::int64_t over = floor_divide(a->constant, divisor);
  const Ref remaining = sum(a->constant - over * divisor, rest);
  const auto left = range(remaining);
  if (!left || left->low < 0) {
    // Larger coefficients leave a smaller rest: 17*i by 16 is i + i by 16.
    return opaque(a, divisor);
  }
  if (left->high < divisor) return want_remainder ? remaining : sum(over, multiple);
  if (over == 0 && multiple.empty()) {
    // 1024*x + j by 2048 with j < 1024 is x by 2.
    std::set<std::int64_t, std::greater<>> steps;
    for (const Term& term : remaining->terms) {
      const std::int64_t step = std::gcd(term.coefficient, divisor);
      if (step > 1) steps.insert(step);
    }
    for (const std::int64_t step : steps) {
      std::vector<Term> coarse, fine;
      for (const Term& term : remaining->terms) {
        if (term.coefficient % step == 0) {
          coarse.push_back({term.coefficient / step, term.atom});
        } else {
          fine.push_back(term);
        }
      }
      const std::int64_t low = remaining->constant % step;
      const Ref rest_of = sum(low, fine);
      const auto reach = range(rest_of);
      if (!reach || reach->low < 0 || reach->high >= step || coarse.empty()) continue;
      const Ref inner =
          quotient(sum(remaining->constant / step, coarse), divisor / step, want_remainder);
      return want_remainder ? add(scale(inner, step), rest_of) : inner;
    }
    std::int64_t common = divisor;
    for (const Term& term : remaining->terms) common = std::gcd(common, term.coefficient);
    if (common > 1) {
      std::vector<Term> reduced;
      for (const Term& term : remaining->terms)
        reduced.push_back({term.coefficient / common, term.atom});
      const std::int64_t low = remaining->constant % common;
      const Ref inner =
          quotient(sum(remaining->constant / common, reduced), divisor / common, want_remainder);
      return want_remainder ? add(scale(inner, common), integer(low)) : inner;
    }
    // (x + i % 49) by 49 is (x + i) by 49 less i by 49.
    for (const Term& term : remaining->terms) {
      if (!term.atom->is(Op::kMod) || term.coefficient != 1) continue;
      const Ref whole_part = term.atom->args[0], by = term.atom->args[1];
      if (!by->is_constant() || by->constant != divisor) continue;
      const auto reach = range(whole_part);
      if (!reach || reach->low < 0) continue;
      const Ref more = add(subtract(remaining, term.atom), whole_part);
      const Ref made = quotient(more, divisor, want_remainder);
      return want_remainder ? made : subtract(made, quotient(whole_part, divisor, false));
    }
    return opaque(a, divisor);
  }
  const Ref of_rest = quotient(remaining, divisor, want_remainder);
  return want_remainder ? of_rest : add(sum(over, multiple), of_rest);
}

Ref Nodes::divide(Ref a, Ref b) {
  if (b->is_constant()) return quotient(a, b->constant, false);
  return operation(Op::kDiv, ScalarType::kI64, {a, b});
}

Ref Nodes::remainder(Ref a, Ref b) {
  if (b->is_constant()) return quotient(a, b->constant, true);
  return operation(Op::kMod, ScalarType::kI64, {a, b});
}

std::optional<Range> type_range(ScalarType type) {
  switch (type) {
    case ScalarType::kBool:
      return Range{0, 1};
    case ScalarType::kI8:
      return Range{-128, 127};
    case ScalarType::kU8:
      return Range{0, 255};
    case ScalarType::kI32:
      return Range{INT32_MIN, INT32_MAX};
    case ScalarType::kU32:
      return Range{0, UINT32_MAX};
    default:
      return std::nullopt;
  }
}

std::optional<Range> Nodes::range(Ref a) {
  if (is_float(a->type)) return std::nullopt;
  const auto known = ranges_.find(a);
  if (known != ranges_.end()) return known->second;
  std::optional<Range> result;
  switch (a->kind) {
    case Node::Kind::kSum: {
      Range sum{a->constant, a->constant};
      bool bounded = true;
      for (const Term& term : a->terms) {
        const auto part = range(term.atom);
        std::int64_t low = 0, high = 0;
        if (!part || __builtin_mul_overflow(part->low, term.coefficient, &low) ||
            __builtin_mul_overflow(part->high, term.coefficient, &high)) {
          bounded = false;
          break;
        }
        if (low > high) std::swap(low, high);
        if (__builtin_add_overflow(sum.low, low, &sum.low) ||
            __builtin_add_overflow(sum.high, high, &sum.high)) {
          bounded = false;
          break;
        }
      }
      if (bounded) result = sum;
      break;
    }
    case Node::Kind::kIndex:
      result = Range{0, extent(a->symbol) - 1};
      break;
    case Node::Kind::kLoad:
      result = type_range(a->type);
      break;
    case Node::Kind::kOp: {
      const auto first = a->args.empty() ? std::nullopt : range(a->args[0]);
      const auto second = a->args.size() < 2 ? std::nullopt : range(a->args[1]);
      const bool by_constant =
          a->args.size() == 2 && a->args[1]->is_constant() && a->args[1]->constant > 0;
      if (a->op == Op::kDiv && by_constant && first) {
        const std::int64_t by = a->args[1]->constant;
        result = Range{first->low / by, first->high / by};
      } else if (a->op == Op::kMod && by_constant) {
        const std::int64_t most = a->args[1]->constant - 1;
        result =
            first && first->low >= 0 ? Range{0, std::min(most, first->high)} : Range{-most, most};
      } else if (a->op == Op::kMul && first && second) {
        std::int64_t corner[4];
        if (!__builtin_mul_overflow(first->low, second->low, &corner[0]) &&
            !__builtin_mul_overflow(first->low, second->high, &corner[1]) &&
            !__builtin_mul_overflow(first->high, second->low, &corner[2]) &&
            !__builtin_mul_overflow(first->high, second->high, &corner[3])) {
          result = Range{*std::ranges::min_element(corner), *std::ranges::max_element(corner)};
        }
      } else if (a->op == Op::kMin && first && second) {
        result = Range{std::min(first->low, second->low), std::min(first->high, second->high)};
      } else if (a->op == Op::kMax && first && second) {
        result = Range{std::max(first->low, second->low), std::max(first->high, second->high)};
      } else if (a->op == Op::kSelect) {
        const auto then = range(a->args[1]), otherwise = range(a->args[2]);
        if (then && otherwise) {
          result =
              Range{std::min(then->low, otherwise->low), std::max(then->high, otherwise->high)};
        }
      } else if (a->op == Op::kBitAnd && by_constant) {
        result = Range{0, a->args[1]->constant};
      } else if (a->op == Op::kCast && !is_float(a->args[0]->type)) {
        result = first;
      }
      // What is kept as 64 bits here need not be.
      if (!result && (a->op == Op::kCast || size_of(a->type) == 1)) result = type_range(a->type);
      break;
    }
    default:
      break;
  }
  ranges_.emplace(a, result);
  return result;
}

}  // namespace hone::nest
