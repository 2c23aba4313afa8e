#include "rewriters/generators/index_math.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace hone::generators {

using lift::Node;

std::int64_t points(const lift::Nodes& nodes, const std::vector<SymbolId>& symbols) {
  std::int64_t product = 1;
  for (const SymbolId symbol : symbols) product *= nodes.extent(symbol);
  return product;
}

Ref flatten(lift::Nodes& nodes, Ref value, std::vector<SymbolId> symbols, SymbolId flat) {
  std::erase_if(symbols, [&](SymbolId symbol) { return nodes.extent(symbol) == 1; });
  const std::size_t count = symbols.size();
  // below[k]: points of the symbols inside symbol k.
  std::vector<std::int64_t> below(count + 1, 1);
  for (std::size_t k = count; k-- > 0;) {
    below[k] = below[k + 1] * nodes.extent(symbols[k]);
  }
  const std::function<Ref(Ref)> change = [&](Ref node) -> Ref {
    if (node->kind != Node::Kind::kSum) return nullptr;
    std::vector<std::int64_t> coefficients(count, 0);
    Ref rest = nodes.integer(node->constant);
    bool any = false;
    for (const lift::Term& term : node->terms) {
      const auto place = term.atom->kind == Node::Kind::kIndex
                             ? std::ranges::find(symbols, term.atom->symbol)
                             : symbols.end();
      if (place != symbols.end()) {
        coefficients[static_cast<std::size_t>(place - symbols.begin())] = term.coefficient;
        any = true;
      } else {
        rest = nodes.add(rest, nodes.scale(nodes.replace(term.atom, change), term.coefficient));
      }
    }
    if (!any) return nullptr;
    // Runs of symbols whose strides follow each other are one digit.
    for (std::size_t last = count; last > 0;) {
      const std::int64_t stride = coefficients[last - 1];
      std::size_t first = last - 1;
      while (stride != 0 && first > 0 &&
             coefficients[first - 1] == coefficients[first] * nodes.extent(symbols[first])) {
        --first;
      }
      if (stride != 0) {
        Ref digit = nodes.divide(nodes.index(flat), nodes.integer(below[last]));
        if (first > 0) digit = nodes.remainder(digit, nodes.integer(below[first] / below[last]));
        rest = nodes.add(rest, nodes.scale(digit, stride));
      }
      last = first;
    }
    return rest;
  };
  return nodes.replace(value, change);
}

namespace {

/// Is a digit taken of the symbol, "symbol / 64"?
bool has_digits(Ref value, SymbolId symbol) {
  std::set<Ref> seen;
  const std::function<bool(Ref)> visit = [&](Ref node) {
    if (!node->uses(symbol) || !seen.insert(node).second) return false;
    if ((node->is("/") || node->is("%")) && node->is_integer()) return true;
    return std::ranges::any_of(node->args, visit) ||
           std::ranges::any_of(node->terms,
                               [&](const lift::Term& term) { return visit(term.atom); });
  };
  return visit(value);
}

}  // namespace

void merge_dims(lift::Nodes& nodes, const std::vector<Ref*>& values, std::vector<SymbolId>& dims) {
  const auto merge_pair = [&]() {
    for (const SymbolId outer : dims) {
      for (const SymbolId inner : dims) {
        if (outer == inner) continue;
        const std::vector<SymbolId> pair = {outer, inner};
        const SymbolId flat = nodes.new_symbol(nodes.symbol(outer).name, points(nodes, pair));
        std::vector<Ref> flattened;
        bool one = true;
        for (const Ref* value : values) {
          flattened.push_back(flatten(nodes, *value, pair, flat));
          one = one && !has_digits(flattened.back(), flat);
        }
        if (!one) continue;
        for (std::size_t i = 0; i < values.size(); ++i) *values[i] = flattened[i];
        std::ranges::replace(dims, outer, flat);
        std::erase(dims, inner);
        return true;
      }
    }
    return false;
  };
  while (merge_pair()) {
  }
}

std::optional<std::int64_t> Lanes::step(Ref integer) {
  if (!integer->uses(symbol_)) return 0;
  if (integer->kind == Node::Kind::kIndex) return 1;
  const auto known = steps_.find(integer);
  if (known != steps_.end()) return known->second;
  std::optional<std::int64_t> result;
  if (integer->kind == Node::Kind::kSum) {
    std::int64_t sum = 0;
    bool linear = true;
    for (const lift::Term& term : integer->terms) {
      const auto part = step(term.atom);
      linear = linear && part.has_value();
      if (part) sum += term.coefficient * *part;
    }
    if (linear) result = sum;
  } else if ((integer->is("/") || integer->is("%")) && integer->args[1]->is_constant()) {
    const auto of = step(integer->args[0]);
    const std::int64_t divisor = integer->args[1]->constant;
    const auto all = nodes_->range(integer->args[0]);
    const bool stays = all && all->low >= 0 && divisor > 0 && divisor % width_ == 0 &&
                       alignment(integer->args[0]) % width_ == 0;
    if (of && *of == 0) {
      result = 0;
    } else if (of && *of == 1 && stays) {
      result = integer->is("/") ? 0 : 1;
    }
  } else if (integer->is(">=0")) {
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

std::int64_t Lanes::alignment(Ref integer) {
  switch (integer->kind) {
    case Node::Kind::kIndex:
      return integer->symbol == symbol_ ? width_ : 1;
    case Node::Kind::kSum: {
      std::int64_t common = std::abs(integer->constant);
      for (const lift::Term& term : integer->terms) {
        common = std::gcd(common, term.coefficient * alignment(term.atom));
      }
      return common;
    }
    case Node::Kind::kOp:
      if (integer->args.size() == 2 && integer->args[1]->is_constant() &&
          integer->args[1]->constant > 0) {
        const std::int64_t divisor = integer->args[1]->constant;
        const std::int64_t of = alignment(integer->args[0]);
        if (integer->is("/")) return of % divisor == 0 ? of / divisor : 1;
        if (integer->is("%")) return std::gcd(of, divisor);
      }
      if (integer->is("*")) return alignment(integer->args[0]) * alignment(integer->args[1]);
      return 1;
    default:
      return 1;
  }
}

bool Lanes::uniform(Ref value) {
  if (!value->uses(symbol_)) return true;
  switch (value->kind) {
    case Node::Kind::kLoad:
    case Node::Kind::kSum: {
      const auto of = step(value->kind == Node::Kind::kLoad ? value->args[0] : value);
      return of && *of == 0;
    }
    case Node::Kind::kOp:
      if (value->is(">=0") ||
          ((value->is("/") || value->is("%")) && value->args[1]->is_constant())) {
        const auto of = step(value);
        return of && *of == 0;
      }
      return std::ranges::all_of(value->args, [&](Ref arg) { return uniform(arg); });
    default:
      return false;
  }
}

bool Lanes::contiguous(Ref element) {
  const auto of = step(element);
  return of && *of == 1 && alignment(element) % width_ == 0;
}

}  // namespace hone::generators
