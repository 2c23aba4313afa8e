#include "rewriters/affine/equations.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <set>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"

namespace hone::nest {

bool apart(Nodes& nodes, Ref a, Ref b, const Facts& facts) {
  const Ref over = nodes.subtract(a, b);
  if (const auto all = nodes.range(over); all && (all->low > 0 || all->high < 0)) return true;
  // Some terms in steps of g, the rest within less than g of no multiple of it.
  std::set<std::int64_t> steps;
  std::int64_t common = 0;
  for (const Term& term : over->terms) {
    steps.insert(std::abs(term.coefficient));
    common = std::gcd(common, term.coefficient);
  }
  steps.insert(common);
  for (const std::int64_t step : steps) {
    if (step <= 1) continue;
    Ref rest = nodes.integer(over->constant);
    for (const Term& term : over->terms) {
      if (term.coefficient % step != 0)
        rest = nodes.add(rest, nodes.scale(term.atom, term.coefficient));
    }
    const auto all = nodes.range(rest);
    if (!all) continue;
    if (floor_divide(all->high, step) * step < all->low) return true;
  }
  const Ref one = nodes.integer(1);
  return facts.prove(nodes, nodes.non_negative(nodes.subtract(over, one))) ||
         facts.prove(nodes, nodes.non_negative(nodes.subtract(nodes.scale(over, -1), one)));
}

std::optional<Nodes::Substitution> solve_for(Nodes& nodes, Ref element,
                                             const std::vector<SymbolId>& symbols, Ref wanted) {
  struct Digit {
    SymbolId symbol;
    std::int64_t coefficient;
  };
  std::vector<Digit> digits;
  Ref base = element;
  const auto [strides, others] = strides_in(element, symbols);
  if (std::ranges::any_of(others, [&](const Term& term) { return uses_any(term.atom, symbols); }))
    return std::nullopt;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (strides[i] == 0) continue;  // any value will do: the caller sees to it
    digits.push_back({symbols[i], strides[i]});
    base = nodes.subtract(base, nodes.scale(nodes.index(symbols[i]), strides[i]));
  }
  // A falling index counts from the other end.
  std::ranges::sort(digits, std::greater<>(),
                    [](const Digit& d) { return std::abs(d.coefficient); });
  Ref rest = nodes.subtract(wanted, base);
  std::int64_t reach = 0;
  for (const Digit& digit : digits) {
    const std::int64_t last = nodes.extent(digit.symbol) - 1;
    if (digit.coefficient < 0) {
      rest = nodes.add(rest, nodes.integer(-digit.coefficient * last));
    }
    reach += std::abs(digit.coefficient) * last;
  }
  const auto all = nodes.range(rest);
  if (!all || all->low < 0 || all->high > reach) return std::nullopt;
  Nodes::Substitution solution;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::int64_t size = std::abs(digits[i].coefficient);
    // What the smaller digits reach must stay below this one's step, else there are two ways.
    std::int64_t below = 0;
    for (std::size_t j = i + 1; j < digits.size(); ++j)
      below += std::abs(digits[j].coefficient) * (nodes.extent(digits[j].symbol) - 1);
    if (below >= size) return std::nullopt;
    const Ref value = nodes.divide(rest, nodes.integer(size));
    const auto range = nodes.range(value);
    const std::int64_t last = nodes.extent(digits[i].symbol) - 1;
    if (!range || range->low < 0 || range->high > last) return std::nullopt;
    solution[digits[i].symbol] =
        digits[i].coefficient > 0 ? value : nodes.subtract(nodes.integer(last), value);
    rest = nodes.remainder(rest, nodes.integer(size));
  }
  if (!rest->is_constant() || rest->constant != 0) return std::nullopt;
  return solution;
}

}  // namespace hone::nest
