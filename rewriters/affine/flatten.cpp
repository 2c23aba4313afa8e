#include "rewriters/affine/flatten.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <set>

#include "rewriters/affine/strides.h"

namespace hone::nest {
namespace {

/// Is a digit taken of the symbol, "symbol / 64"?
bool has_digits(Ref value, SymbolId symbol) {
  std::set<Ref> seen;
  const std::function<bool(Ref)> visit = [&](Ref node) {
    if (!node->uses(symbol) || !seen.insert(node).second) return false;
    if (node->is(Op::kDiv, Op::kMod) && node->is_integer()) return true;
    return std::ranges::any_of(node->args, visit) ||
           std::ranges::any_of(node->terms, [&](const Term& term) { return visit(term.atom); });
  };
  return visit(value);
}

/// x / low % (high / low), of an x below `high` where nothing cuts it off.
struct Digit {
  std::int64_t low = 1;
  std::int64_t high = 0;
  std::int64_t coefficient = 0;
};

std::optional<Digit> digit_of(const Nodes& nodes, Ref value, SymbolId symbol) {
  value = peel(value);
  if (value->kind == Node::Kind::kIndex && value->symbol == symbol) {
    return Digit{1, nodes.extent(symbol), 0};
  }
  const bool divides = value->is(Op::kDiv);
  if ((!divides && !value->is(Op::kMod)) || !value->args[1]->is_constant()) return std::nullopt;
  auto digit = digit_of(nodes, value->args[0], symbol);
  const std::int64_t by = value->args[1]->constant;
  if (!digit || by <= 0) return std::nullopt;
  if (divides) {
    digit->low *= by;
  } else {
    digit->high = std::min(digit->high, digit->low * by);
  }
  return digit;
}

Ref value_of(Nodes& nodes, const Digit& digit, SymbolId symbol) {
  Ref value = nodes.divide(nodes.index(symbol), nodes.integer(digit.low));
  if (digit.high < nodes.extent(symbol)) {
    value = nodes.remainder(value, nodes.integer(digit.high / digit.low));
  }
  return nodes.scale(value, digit.coefficient);
}

}  // namespace

Ref flatten(Nodes& nodes, Ref value, std::vector<SymbolId> symbols, SymbolId flat) {
  std::erase_if(symbols, [&](SymbolId symbol) { return nodes.extent(symbol) == 1; });
  const std::size_t count = symbols.size();
  // below[k]: points of the symbols inside symbol k.
  std::vector<std::int64_t> below(count + 1, 1);
  for (std::size_t k = count; k-- > 0;) {
    below[k] = below[k + 1] * nodes.extent(symbols[k]);
  }
  const std::function<Ref(Ref)> change = [&](Ref node) -> Ref {
    if (node->kind != Node::Kind::kSum) return nullptr;
    const auto [strides, others] = strides_in(node, symbols);
    if (std::ranges::all_of(strides, [](std::int64_t stride) { return stride == 0; }))
      return nullptr;
    Ref rest = nodes.integer(node->constant);
    for (const Term& term : others)
      rest = nodes.add(rest, nodes.scale(nodes.replace(term.atom, change), term.coefficient));
    // Runs of symbols whose strides follow each other are one digit.
    for (std::size_t last = count; last > 0;) {
      const std::int64_t stride = strides[last - 1];
      std::size_t first = last - 1;
      while (stride != 0 && first > 0 &&
             strides[first - 1] == strides[first] * nodes.extent(symbols[first])) {
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

SymbolId flat_index(Nodes& nodes, const std::string& name, const std::vector<SymbolId>& symbols,
                    Nodes::Substitution& digits) {
  const SymbolId flat = nodes.new_symbol(name, points(nodes, symbols));
  for (const SymbolId symbol : std::views::reverse(symbols))
    digits[symbol] = flatten(nodes, nodes.index(symbol), symbols, flat);
  return flat;
}

void merge_dims(Nodes& nodes, const std::vector<Ref*>& values, std::vector<SymbolId>& dims) {
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

Ref with_merged_digits(Nodes& nodes, Ref value, SymbolId symbol) {
  return nodes.replace(value, [&](Ref node) -> Ref {
    if (node->kind != Node::Kind::kSum || node->terms.size() < 2 || !node->uses(symbol)) {
      return nullptr;
    }
    std::vector<Digit> digits;
    Ref rest = nodes.integer(node->constant);
    for (const Term& term : node->terms) {
      if (auto digit = digit_of(nodes, term.atom, symbol)) {
        digit->coefficient = term.coefficient;
        digits.push_back(*digit);
      } else {
        rest = nodes.add(rest, nodes.scale(term.atom, term.coefficient));
      }
    }
    const std::size_t before = digits.size();
    std::ranges::sort(digits, {}, &Digit::low);
    for (std::size_t i = 0; i + 1 < digits.size();) {
      Digit& lower = digits[i];
      const Digit& upper = digits[i + 1];
      const bool joined = lower.high == upper.low &&
                          upper.coefficient == lower.coefficient * (lower.high / lower.low);
      if (!joined) {
        ++i;
        continue;
      }
      lower.high = upper.high;
      digits.erase(digits.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    if (digits.size() == before) return nullptr;
    Ref sum = with_merged_digits(nodes, rest, symbol);
    for (const Digit& digit : digits) sum = nodes.add(sum, value_of(nodes, digit, symbol));
    return sum;
  });
}

}  // namespace hone::nest
