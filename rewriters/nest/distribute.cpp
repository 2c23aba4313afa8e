// Sums of sums, so that less is multiplied:
//   sum over l of (sum over k of f) / c      => (sum over l, k of f) / c, c the same for all l
//   sum over l, k of a(k) * b(l, k)          => sum over k of a(k) * sum over l of b(l, k)
// Legal where sums may be regrouped.
#include <algorithm>

#include "rewriters/nest/renumber.h"

namespace hone::nest {
namespace {

void factors_of(Ref value, std::vector<Ref>& all) {
  if (value->is(Op::kMul)) {
    factors_of(value->args[0], all);
    factors_of(value->args[1], all);
  } else {
    all.push_back(value);
  }
}

Ref product_of(Nodes& nodes, const std::vector<Ref>& factors) {
  Ref all = factors[0];
  for (std::size_t i = 1; i < factors.size(); ++i)
    all = nodes.op(Op::kMul, all->type, {all, factors[i]});
  return all;
}

Ref scale_outside(Nodes& nodes, const std::vector<SymbolId>& symbols, Ref body) {
  if (!body->is(Op::kDiv, Op::kMul)) return nullptr;
  for (const std::size_t inner : {std::size_t{0}, std::size_t{1}}) {
    const Ref part = body->args[inner], scale = body->args[1 - inner];
    if (inner == 1 && body->is(Op::kDiv)) continue;
    if (part->kind != Node::Kind::kReduce || part->op != Op::kAdd) continue;
    if (uses_any(scale, symbols)) continue;
    return nodes.op(body->op, body->type, {nodes.reduce(Op::kAdd, symbols, part), scale});
  }
  return nullptr;
}

/// The symbols of some factors alone are summed over before the others are multiplied.
Ref inside_out(Nodes& nodes, const std::vector<SymbolId>& symbols, Ref body) {
  std::vector<Ref> factors;
  factors_of(body, factors);
  if (factors.size() < 2 || symbols.size() < 2) return nullptr;
  for (const SymbolId first : symbols) {
    // With it, what is in the same factors and in no other.
    std::vector<Ref> with, without;
    for (const Ref factor : factors) (factor->uses(first) ? with : without).push_back(factor);
    if (with.empty() || without.empty() || !uses_any(product_of(nodes, without), symbols)) continue;
    std::vector<SymbolId> inner, outer;
    for (const SymbolId symbol : symbols) {
      const bool elsewhere =
          std::ranges::any_of(without, [&](Ref factor) { return factor->uses(symbol); });
      (elsewhere ? outer : inner).push_back(symbol);
    }
    if (outer.empty()) continue;
    without.push_back(nodes.reduce(Op::kAdd, inner, product_of(nodes, with)));
    return nodes.reduce(Op::kAdd, outer, product_of(nodes, without));
  }
  return nullptr;
}

}  // namespace

Ref distributed(Nodes& nodes, Ref reduction) {
  // A half's sum may be too large before it is divided.
  const bool wide = reduction->type == ScalarType::kF32 || reduction->type == ScalarType::kF64;
  if (reduction->op != Op::kAdd || !wide) return nullptr;
  const Nodes::Opened opened = nodes.open(reduction);
  const Ref body = peel(opened.body);
  if (const Ref made = scale_outside(nodes, opened.symbols, body)) return made;
  return inside_out(nodes, opened.symbols, body);
}

}  // namespace hone::nest
