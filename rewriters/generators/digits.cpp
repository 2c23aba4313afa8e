#include "rewriters/generators/digits.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace hone::generators {
namespace {

using lift::Node;
using lift::Nodes;
using lift::Ref;
using lift::SymbolId;
using lift::Term;

/// x / low % (high / low), of an x below `high` where nothing cuts it off.
struct Digit {
  std::int64_t low = 1;
  std::int64_t high = 0;
  std::int64_t coefficient = 0;
};

std::optional<Digit> digit_of(const Nodes& nodes, Ref value, SymbolId symbol) {
  value = lift::peel(value);
  if (value->kind == Node::Kind::kIndex && value->symbol == symbol) {
    return Digit{1, nodes.extent(symbol), 0};
  }
  const bool divides = value->is("/");
  if ((!divides && !value->is("%")) || !value->args[1]->is_constant()) return std::nullopt;
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

}  // namespace hone::generators
