// Conditions: kept as sums that are not negative, conjunctions without repetition; and facts, what
// is known where they hold.
#include <algorithm>
#include <numeric>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/node.h"

namespace hone::nest {

Ref Nodes::non_negative(Ref a) {
  if (const auto all = range(a)) {
    if (all->low >= 0) return boolean(true);
    if (all->high < 0) return boolean(false);
  }
  std::int64_t common = 0;
  for (const Term& term : a->terms) common = std::gcd(common, term.coefficient);
  if (common > 1 && !plain_conditions) {
    std::vector<Term> reduced;
    for (const Term& term : a->terms) reduced.push_back({term.coefficient / common, term.atom});
    a = sum(floor_divide(a->constant, common), reduced);
  }
  return make(Op::kNonNegative, ScalarType::kBool, {a});
}

Ref Nodes::is_zero(Ref a) {
  if (a->is_constant()) return boolean(a->constant == 0);
  if (const auto all = range(a); all && (all->low > 0 || all->high < 0)) return boolean(false);
  if (a->terms[0].coefficient < 0) a = scale(a, -1);
  return make(Op::kIsZero, ScalarType::kBool, {a});
}

std::vector<Ref> conjuncts(Ref condition) {
  if (!condition->is(Op::kAnd)) return {condition};
  std::vector<Ref> all = conjuncts(condition->args[0]);
  const std::vector<Ref> more = conjuncts(condition->args[1]);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

namespace {

/// Holds only where some number is NaN: x != x, alone or with other conditions.
bool tells_nan(Ref condition) {
  return std::ranges::any_of(conjuncts(condition), [](Ref part) {
    const bool turned = part->is(Op::kNot);
    const Ref test = turned ? part->args[0] : part;
    return test->is(turned ? Op::kEqual : Op::kNotEqual) && test->args[0] == test->args[1];
  });
}

}  // namespace

Ref order_alone(Ref condition) {
  if (!condition->is(Op::kOr)) return condition;
  for (std::size_t i = 0; i < 2; ++i) {
    const Ref order = condition->args[i];
    if (order->is(Op::kLess, Op::kLessEqual) && tells_nan(condition->args[1 - i])) return order;
  }
  return condition;
}

Ref Nodes::both(Ref a, Ref b) {
  if (a->is_constant()) return a->constant != 0 ? b : a;
  if (b->is_constant()) return b->constant != 0 ? a : b;
  std::vector<Ref> parts = conjuncts(a);
  for (const Ref part : conjuncts(b)) {
    if (std::ranges::find(parts, part) != parts.end()) continue;
    if (std::ranges::find(parts, negate(part)) != parts.end()) return boolean(false);
    parts.push_back(part);
  }
  // Of !(a && c), where a holds, !c is left.
  for (std::size_t i = 0; i < parts.size() && !plain_conditions; ++i) {
    if (!parts[i]->is(Op::kNot) || !parts[i]->args[0]->is(Op::kAnd)) continue;
    const std::vector<Ref> denied = conjuncts(parts[i]->args[0]);
    Ref left = boolean(true), others = boolean(true);
    for (const Ref one : denied)
      if (std::ranges::find(parts, one) == parts.end()) left = both(left, one);
    if (left->has_load || left == parts[i]->args[0]) continue;
    for (std::size_t j = 0; j < parts.size(); ++j)
      if (j != i) others = both(others, parts[j]);
    return both(others, negate(left));
  }
  // What is about data last: it may be there to be read only where the rest holds.
  std::ranges::sort(parts, {}, [](Ref part) { return std::make_pair(part->has_load, part->id); });
  Ref all = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    all = make(Op::kAnd, ScalarType::kBool, {all, parts[i]});
  }
  return all;
}

Ref Nodes::either(Ref a, Ref b) {
  if (a->is_constant()) return a->constant != 0 ? a : b;
  if (b->is_constant()) return b->constant != 0 ? b : a;
  if (a == b) return a;
  if (a == negate(b)) return boolean(true);
  // What follows from the other adds nothing.
  Facts when_a, when_b;
  when_a.add(a);
  when_b.add(b);
  if (when_a.prove(*this, b)) return b;
  if (when_b.prove(*this, a)) return a;
  // (c && a) || (c && b) is c && (a || b).
  const std::vector<Ref> left = conjuncts(a), right = conjuncts(b);
  Ref common = boolean(true), only_left = boolean(true), only_right = boolean(true);
  for (const Ref part : left) {
    const bool shared = std::ranges::find(right, part) != right.end();
    (shared ? common : only_left) = both(shared ? common : only_left, part);
  }
  for (const Ref part : right)
    if (std::ranges::find(left, part) == left.end()) only_right = both(only_right, part);
  if (!common->is_constant()) return both(common, either(only_left, only_right));
  // a || (!a && b) is a || b.
  if (left.size() == 1 && std::ranges::find(right, negate(a)) != right.end()) {
    Ref rest = boolean(true);
    for (const Ref part : right)
      if (part != negate(a)) rest = both(rest, part);
    if (!a->has_load || !rest->has_load) return either(a, rest);
  }
  if (right.size() == 1 && left.size() > 1 && std::ranges::find(left, negate(b)) != left.end()) {
    return either(b, a);
  }
  if (std::make_pair(a->has_load, a->id) > std::make_pair(b->has_load, b->id)) std::swap(a, b);
  return make(Op::kOr, ScalarType::kBool, {a, b});
}

Ref Nodes::negate(Ref a) {
  if (a->is_constant()) return boolean(a->constant == 0);
  if (a->is(Op::kNot)) return a->args[0];
  if (a->is(Op::kNonNegative)) return non_negative(sum(-1, {{-1, a->args[0]}}));
  if (a->is(Op::kOr)) return both(negate(a->args[0]), negate(a->args[1]));
  return make(Op::kNot, ScalarType::kBool, {a});
}

void Facts::add(Ref condition) {
  for (const Ref part : conjuncts(condition)) {
    if (part->is_constant()) continue;
    if (std::ranges::find(conditions_, part) == conditions_.end()) conditions_.push_back(part);
  }
}

bool Facts::prove(Nodes& nodes, Ref condition) const {
  for (const Ref part : conjuncts(condition)) {
    nodes.work(1 + conditions_.size() / 4);
    if (part->is_constant()) {
      if (part->constant == 0) return false;
      continue;
    }
    if (std::ranges::find(conditions_, part) != conditions_.end()) continue;
    bool shown = false;
    if (part->is(Op::kNonNegative)) {
      for (const Ref fact : conditions_) {
        if (!fact->is(Op::kNonNegative)) continue;
        const auto over = nodes.range(nodes.subtract(part->args[0], fact->args[0]));
        shown = shown || (over && over->low >= 0);
      }
    }
    if (part->is(Op::kOr)) shown = prove(nodes, part->args[0]) || prove(nodes, part->args[1]);
    if (!shown) return false;
  }
  return true;
}

Ref under(Nodes& nodes, Ref value, const Facts& facts) {
  if (facts.conditions().empty()) return value;
  return nodes.replace(value, [&](Ref node) -> Ref {
    if (node->type != ScalarType::kBool || node->kind != Node::Kind::kOp) return nullptr;
    if (facts.prove(nodes, node)) return nodes.boolean(true);
    if (facts.prove(nodes, nodes.negate(node))) return nodes.boolean(false);
    return nullptr;
  });
}

}  // namespace hone::nest
