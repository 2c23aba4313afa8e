#include "rewriters/schedules/attention/softmax.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rewriters/schedules/products.h"

namespace hone::schedules::attention {
namespace {

using nest::Node;
using nest::Nodes;

/// Beyond any score of data that f32 holds with sense; what references write is -1e9 and less.
constexpr double kMaskedOut = -1e9;

bool same_reduction(Nodes& nodes, Ref a, Ref b) {
  if (a->symbols.size() != b->symbols.size()) return false;
  const Nodes::Opened x = nodes.open(a), y = nodes.open(b);
  Nodes::Substitution names;
  for (std::size_t i = 0; i < x.symbols.size(); ++i) {
    if (nodes.extent(x.symbols[i]) != nodes.extent(y.symbols[i])) return false;
    names[y.symbols[i]] = nodes.index(x.symbols[i]);
  }
  return same(nodes, x.body, nodes.substitute(y.body, names));
}

/// What e to the power of x is 2 to the power of.
Ref in_powers_of_two(Nodes& nodes, Ref x) {
  constexpr double kLog2E = 1.4426950408889634;
  return nodes.op(Op::kMul, x->type, {x, nodes.number(kLog2E, x->type)});
}

/// Terms that the key does not change left out; nullptr: nothing is left.
Ref unshifted(Nodes& nodes, Ref x, SymbolId key) {
  if (!x->uses(key)) return nullptr;
  const auto again = [&](Ref part) { return unshifted(nodes, part, key); };
  if (x->is(Op::kFma)) {
    return again(nodes.op(Op::kAdd, x->type,
                          {nodes.op(Op::kMul, x->type, {x->args[0], x->args[1]}), x->args[2]}));
  }
  if (x->is(Op::kAdd, Op::kSub)) {
    const Ref left = again(x->args[0]), right = again(x->args[1]);
    if (right == nullptr) return left;
    if (left == nullptr) return x->is(Op::kAdd) ? right : nodes.op(Op::kNeg, x->type, {right});
    return nodes.op(x->op, x->type, {left, right});
  }
  if (x->is(Op::kNeg)) return nodes.op(Op::kNeg, x->type, {again(x->args[0])});
  if (x->is(Op::kMul, Op::kDiv)) {
    const bool second = !x->args[1]->uses(key);
    const bool first = x->is(Op::kMul) && !x->args[0]->uses(key);
    if (second) return nodes.op(x->op, x->type, {again(x->args[0]), x->args[1]});
    if (first) return nodes.op(Op::kMul, x->type, {x->args[0], again(x->args[1])});
  }
  return x;
}

/// The largest logit of a row in a condition that holds where it is minus infinity, or, if
/// `is_not`, where it is not; nullptr: it is another condition.
Ref largest_is_nothing(Ref condition, bool is_not) {
  if (!condition->is(is_not ? Op::kNotEqual : Op::kEqual)) return nullptr;
  for (const std::size_t at : {0U, 1U}) {
    const Ref largest = condition->args[at];
    const auto number = number_of(condition->args[1 - at]);
    const bool nothing = number && std::isinf(*number) && *number < 0;
    if (nothing && largest->kind == Node::Kind::kReduce && largest->op == Op::kMax) return largest;
  }
  return nullptr;
}

}  // namespace

bool same(Nodes& nodes, Ref a, Ref b) {
  if (a == b) return true;
  const bool alike = a->kind == b->kind && a->what() == b->what() && a->type == b->type &&
                     a->args.size() == b->args.size() && a->terms.size() == b->terms.size() &&
                     a->constant == b->constant && a->symbol == b->symbol;
  if (!alike || a->kind == Node::Kind::kFloat || a->kind == Node::Kind::kIndex) return false;
  if (a->kind == Node::Kind::kReduce) return same_reduction(nodes, a, b);
  for (std::size_t i = 0; i < a->terms.size(); ++i) {
    if (a->terms[i].coefficient != b->terms[i].coefficient) return false;
    if (!same(nodes, a->terms[i].atom, b->terms[i].atom)) return false;
  }
  bool in_order = true;
  for (std::size_t i = 0; i < a->args.size() && in_order; ++i) {
    in_order = same(nodes, a->args[i], b->args[i]);
  }
  if (in_order) return true;
  const bool commutes = folds_numbers(a->op) || a->is(Op::kAnd, Op::kOr);
  return a->args.size() == 2 && commutes && same(nodes, a->args[0], b->args[1]) &&
         same(nodes, a->args[1], b->args[0]);
}

std::optional<double> number_of(Ref value) {
  if (value->kind == Node::Kind::kFloat) return value->value;
  if (value->is_constant()) return static_cast<double>(value->constant);
  if (value->kind != Node::Kind::kOp || value->args.empty() || value->args.size() > 2) {
    return std::nullopt;
  }
  const auto a = number_of(value->args[0]);
  const auto b = value->args.size() == 2 ? number_of(value->args[1]) : a;
  if (!a || !b || !is_float(value->type)) return std::nullopt;
  if (value->is(Op::kCast)) return a;
  const std::array numbers = {*a, *b};
  return evaluate(value->op, value->name, {numbers.data(), value->args.size()});
}

Product product_over(Nodes& nodes, Ref body, SymbolId key) {
  Product product;
  product.guard = nodes.boolean(true);
  // select(largest == -inf, 0, weight), as PyTorch has it, or the other way around.
  const auto of_rows_with_keys = [&](Ref value) -> std::pair<Ref, Ref> {
    for (const std::size_t at : {1U, 2U}) {
      if (!value->is(Op::kSelect) || number_of(value->args[at]) != 0.0) continue;
      const Ref largest = largest_is_nothing(value->args[0], at == 2);
      if (largest != nullptr && !largest->uses(key)) return {largest, value->args[3 - at]};
    }
    return {nullptr, nullptr};
  };
  const auto add = [&](auto& self, Ref value, bool upstairs) -> void {
    if (value->is(Op::kMul)) {
      for (const Ref arg : value->args) self(self, arg, upstairs);
    } else if (value->is(Op::kDiv) && is_float(value->type)) {
      self(self, value->args[0], upstairs);
      self(self, value->args[1], !upstairs);
    } else if (value->is(Op::kNeg)) {
      product.outer.push_back(nodes.number(-1, value->type));
      self(self, value->args[0], upstairs);
    } else if (const auto [largest, rest] = of_rows_with_keys(value);
               upstairs && largest != nullptr && product.largest == nullptr) {
      product.largest = largest;
      self(self, rest, true);
    } else if (upstairs && value->is(Op::kSelect) && value->args[2]->kind == Node::Kind::kFloat &&
               value->args[2]->value == 0 && value->args[1]->uses(key)) {
      product.guard = nodes.both(product.guard, value->args[0]);
      self(self, value->args[1], true);
    } else if (value->is(Op::kCast) && is_float(value->args[0]->type) &&
               value->args[0]->kind == Node::Kind::kOp && value->args[0]->uses(key)) {
      // A weight that was kept in few bits: it is better without.
      self(self, value->args[0], upstairs);
    } else if (!upstairs) {
      product.below.push_back(value);
    } else {
      (value->uses(key) ? product.inner : product.outer).push_back(value);
    }
  };
  add(add, body, true);
  return product;
}

Ref exponent_of(Nodes& nodes, Ref value, SymbolId key) {
  const bool natural = value->calls("exp", "__expf");
  if (!natural && !value->calls("exp2")) return nullptr;
  const Ref exponent = unshifted(nodes, value->args[0], key);
  if (exponent == nullptr) return nullptr;
  if (!natural) return exponent;
  return in_powers_of_two(nodes, exponent);
}

bool is_largest_logit(Nodes& nodes, Ref largest, Ref exponent, SymbolId key) {
  const Nodes::Opened opened = nodes.open(largest);
  if (opened.symbols.size() != 1 || nodes.extent(opened.symbols[0]) != nodes.extent(key))
    return false;
  const Ref logit = nodes.substitute(opened.body, {{opened.symbols[0], nodes.index(key)}});
  // A term that is the same for all keys may be minus infinity, and is not in the exponent.
  const Ref bare = unshifted(nodes, logit, key);
  if (bare == nullptr || !same(nodes, bare, logit)) return false;
  return same(nodes, logit, exponent) || same(nodes, in_powers_of_two(nodes, logit), exponent);
}

Masked masked(Nodes& nodes, Ref logit) {
  // `times`: a positive factor around the part.
  const auto peel = [&](auto& self, Ref x, double times) -> Masked {
    const auto nothing = [&](Ref value) {
      const auto number = number_of(value);
      return number && *number * times <= kMaskedOut ? number : std::nullopt;
    };
    if (x->is(Op::kSelect)) {
      for (const int at : {2, 1}) {
        const auto number = nothing(x->args[static_cast<std::size_t>(at)]);
        if (!number) continue;
        Masked inner = self(self, x->args[static_cast<std::size_t>(3 - at)], times);
        const Ref condition = at == 2 ? x->args[0] : nodes.negate(x->args[0]);
        inner.allowed = nodes.both(condition, inner.allowed);
        inner.finite |= std::isfinite(*number);
        return inner;
      }
    } else if (x->is(Op::kAdd)) {
      Masked left = self(self, x->args[0], times), right = self(self, x->args[1], times);
      return {nodes.op(Op::kAdd, x->type, {left.logit, right.logit}),
              nodes.both(left.allowed, right.allowed), left.finite || right.finite};
    } else if (x->is(Op::kMul, Op::kDiv)) {
      for (const std::size_t at : {1U, 0U}) {
        const auto factor = number_of(x->args[at]);
        if (!factor || *factor <= 0 || (at == 0 && x->is(Op::kDiv))) continue;
        Masked inner =
            self(self, x->args[1 - at], times * (x->is(Op::kMul) ? *factor : 1 / *factor));
        std::vector<Ref> args = x->args;
        args[1 - at] = inner.logit;
        inner.logit = nodes.op(x->op, x->type, std::move(args));
        return inner;
      }
    }
    return {x, nodes.boolean(true), false};
  };
  return peel(peel, logit, 1);
}

}  // namespace hone::schedules::attention
