#include "rewriters/affine/strides.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace hone::nest {

std::int64_t points(const Nodes& nodes, const std::vector<SymbolId>& symbols) {
  std::int64_t product = 1;
  for (const SymbolId symbol : symbols) product *= nodes.extent(symbol);
  return product;
}

Strides strides_in(Ref integer, const std::vector<SymbolId>& symbols) {
  Strides strides{std::vector<std::int64_t>(symbols.size()), {}};
  for (const Term& term : integer->terms) {
    const bool is_index = term.atom->kind == Node::Kind::kIndex;
    const auto place = is_index ? std::ranges::find(symbols, term.atom->symbol) : symbols.end();
    if (place == symbols.end()) {
      strides.others.push_back(term);
    } else {
      strides.of[static_cast<std::size_t>(place - symbols.begin())] = term.coefficient;
    }
  }
  return strides;
}

std::int64_t stride_of(Ref integer, SymbolId symbol) { return strides_in(integer, {symbol}).of[0]; }

void sort_by_stride(std::vector<SymbolId>& symbols, Ref by) {
  if (by == nullptr) return;
  std::ranges::stable_sort(symbols, std::greater<>(),
                           [&](SymbolId symbol) { return std::abs(stride_of(by, symbol)); });
}

}  // namespace hone::nest
