#include "rewriters/affine/neighbours.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace hone::nest {

std::optional<std::int64_t> Neighbours::step(Ref integer) {
  if (!integer->uses(symbol_)) return 0;
  if (integer->kind == Node::Kind::kIndex) return 1;
  const auto known = steps_.find(integer);
  if (known != steps_.end()) return known->second;
  std::optional<std::int64_t> result;
  if (integer->kind == Node::Kind::kSum) {
    std::int64_t sum = 0;
    bool linear = true;
    for (const Term& term : integer->terms) {
      const auto part = step(term.atom);
      linear = linear && part.has_value();
      if (part) sum += term.coefficient * *part;
    }
    if (linear) result = sum;
  } else if (integer->is(Op::kDiv, Op::kMod) && integer->args[1]->is_constant()) {
    const auto of = step(integer->args[0]);
    const std::int64_t divisor = integer->args[1]->constant;
    const auto all = nodes_->range(integer->args[0]);
    const bool stays = all && all->low >= 0 && divisor > 0 && divisor % width_ == 0 &&
                       alignment(integer->args[0]) % width_ == 0;
    if (of && *of == 0) {
      result = 0;
    } else if (of && *of == 1 && stays) {
      result = integer->is(Op::kDiv) ? 0 : 1;
    }
  } else if (integer->is(Op::kNonNegative)) {
    const Ref sum = integer->args[0];
    const auto of = step(sum);
    const bool stays =
        of && (*of == 0 || (*of == 1 && alignment(sum) % width_ == 0) ||
               (*of == -1 && alignment(nodes_->add(sum, nodes_->integer(1))) % width_ == 0));
    if (stays) result = 0;
  } else if (uniform(integer)) {
    result = 0;
  }
  steps_.emplace(integer, result);
  return result;
}

std::int64_t Neighbours::alignment(Ref integer) {
  switch (integer->kind) {
    case Node::Kind::kIndex:
      return integer->symbol == symbol_ ? width_ : 1;
    case Node::Kind::kSum: {
      std::int64_t common = std::abs(integer->constant);
      for (const Term& term : integer->terms) {
        common = std::gcd(common, term.coefficient * alignment(term.atom));
      }
      return common;
    }
    case Node::Kind::kOp:
      if (integer->args.size() == 2 && integer->args[1]->is_constant() &&
          integer->args[1]->constant > 0) {
        const std::int64_t divisor = integer->args[1]->constant;
        const std::int64_t of = alignment(integer->args[0]);
        if (integer->is(Op::kDiv)) return of % divisor == 0 ? of / divisor : 1;
        if (integer->is(Op::kMod)) return std::gcd(of, divisor);
      }
      if (integer->is(Op::kMul)) return alignment(integer->args[0]) * alignment(integer->args[1]);
      return 1;
    default:
      return 1;
  }
}

bool Neighbours::uniform(Ref value) {
  if (!value->uses(symbol_)) return true;
  switch (value->kind) {
    case Node::Kind::kLoad:
    case Node::Kind::kSum: {
      const auto of = step(value->kind == Node::Kind::kLoad ? value->args[0] : value);
      return of && *of == 0;
    }
    case Node::Kind::kOp:
      if (value->is(Op::kNonNegative) ||
          (value->is(Op::kDiv, Op::kMod) && value->args[1]->is_constant())) {
        const auto of = step(value);
        return of && *of == 0;
      }
      return std::ranges::all_of(value->args, [&](Ref arg) { return uniform(arg); });
    default:
      return false;
  }
}

bool Neighbours::contiguous(Ref element) {
  const auto of = step(element);
  return of && *of == 1 && alignment(element) % width_ == 0;
}

int longest_run(Nodes& nodes, Ref element, SymbolId index, ScalarType type) {
  int size = static_cast<int>(16 / size_of(type));
  while (size > 1 &&
         (nodes.extent(index) % size != 0 || !Neighbours(nodes, index, size).contiguous(element)))
    size /= 2;
  return size;
}

}  // namespace hone::nest
