#include "rewriters/schedules/products.h"

namespace hone::schedules {

using nest::Node;
using nest::Nodes;

void factors_of(Nodes& nodes, Ref value, std::vector<Ref>& factors) {
  if (value->is(Op::kMul)) {
    for (const Ref arg : value->args) factors_of(nodes, arg, factors);
  } else if (value->is(Op::kNeg)) {
    factors.push_back(nodes.number(-1, value->type));
    factors_of(nodes, value->args[0], factors);
  } else {
    factors.push_back(value);
  }
}

Ref product_of(Nodes& nodes, const std::vector<Ref>& factors, ScalarType type) {
  if (factors.empty()) return nodes.number(1, type);
  Ref product = factors[0];
  for (std::size_t i = 1; i < factors.size(); ++i) {
    product = nodes.op(Op::kMul, type, {product, factors[i]});
  }
  return product;
}

Ref first_load(Ref value) {
  Ref found = nullptr;
  for_each(value, [&](Ref node) {
    if (found == nullptr && node->kind == Node::Kind::kLoad) found = node;
  });
  return found;
}

Ref without_widening(Ref value) {
  while (value->is(Op::kCast) && is_float(value->args[0]->type) &&
         size_of(value->args[0]->type) < size_of(value->type)) {
    value = value->args[0];
  }
  return value;
}

}  // namespace hone::schedules
