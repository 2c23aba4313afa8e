#include "rewriters/generators/products.h"

#include <algorithm>
#include <cstdlib>

namespace hone::generators {

using lift::Node;
using lift::Nodes;
using lift::Term;

namespace {

/// Does an integer stay the same over each aligned group of `size` values of the index?
bool steady(Ref value, SymbolId index, std::int64_t size) {
  if (!value->uses(index)) return true;
  const Ref plain = lift::peel(value);
  if (plain != value) return steady(plain, index, size);
  if (value->kind == Node::Kind::kSum) {
    return std::ranges::all_of(value->terms,
                               [&](const Term& term) { return steady(term.atom, index, size); });
  }
  if ((value->is("/") || value->is("%")) && value->args[1]->is_constant()) {
    if (steady(value->args[0], index, size)) return true;
    const Ref of = lift::peel(value->args[0]);
    return value->is("/") && of->kind == Node::Kind::kIndex && value->args[1]->constant % size == 0;
  }
  return false;
}

/// Does element(index) run from a multiple of `size` upwards over each aligned group of indices?
bool runs(const Nodes& nodes, Ref element, SymbolId index, int size) {
  if (nodes.extent(index) % size != 0 || element->constant % size != 0) return false;
  std::int64_t step = 0;
  for (const Term& term : element->terms) {
    const Ref atom = term.atom;
    const bool is_index = atom->kind == Node::Kind::kIndex && atom->symbol == index;
    const bool is_digit = atom->is("%") && atom->args[1]->is_constant() &&
                          atom->args[1]->constant % size == 0 &&
                          lift::peel(atom->args[0])->kind == Node::Kind::kIndex &&
                          lift::peel(atom->args[0])->symbol == index;
    if (is_index || is_digit) {
      step += term.coefficient;
    } else if (term.coefficient % size != 0 || !steady(atom, index, size)) {
      return false;
    }
  }
  return step == 1;
}

}  // namespace

void factors_of(Nodes& nodes, Ref value, std::vector<Ref>& factors) {
  if (value->is("*")) {
    for (const Ref arg : value->args) factors_of(nodes, arg, factors);
  } else if (value->is("neg")) {
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
    product = nodes.op("*", type, {product, factors[i]});
  }
  return product;
}

std::int64_t size_of_all(const Nodes& nodes, const std::vector<SymbolId>& symbols) {
  std::int64_t size = 1;
  for (const SymbolId symbol : symbols) size *= nodes.extent(symbol);
  return size;
}

std::int64_t stride_in(Ref element, SymbolId symbol) {
  for (const Term& term : element->terms) {
    if (term.atom->kind == Node::Kind::kIndex && term.atom->symbol == symbol) {
      return std::abs(term.coefficient);
    }
  }
  return 0;
}

Ref first_load(Ref value) {
  Ref found = nullptr;
  for_each(value, [&](Ref node) {
    if (found == nullptr && node->kind == Node::Kind::kLoad) found = node;
  });
  return found;
}

void sort_by_stride(std::vector<SymbolId>& symbols, Ref by) {
  if (by == nullptr) return;
  std::ranges::stable_sort(
      symbols, [&](SymbolId x, SymbolId y) { return stride_in(by, x) > stride_in(by, y); });
}

SymbolId flatten(Nodes& nodes, const std::string& name, const std::vector<SymbolId>& symbols,
                 Nodes::Substitution& digits) {
  const SymbolId flat = nodes.new_symbol(name, size_of_all(nodes, symbols));
  Ref rest = nodes.index(flat);
  for (std::size_t i = symbols.size(); i-- > 0;) {
    const Ref size = nodes.integer(nodes.extent(symbols[i]));
    digits[symbols[i]] = i == 0 ? rest : nodes.remainder(rest, size);
    rest = nodes.divide(rest, size);
  }
  return flat;
}

int longest_run(const Nodes& nodes, Ref element, SymbolId index, ScalarType type) {
  int size = static_cast<int>(16 / size_of(type));
  while (size > 1 && !runs(nodes, element, index, size)) size /= 2;
  return size;
}

Ref without_widening(Ref value) {
  while (value->is("cast") && is_float(value->args[0]->type) &&
         size_of(value->args[0]->type) < size_of(value->type)) {
    value = value->args[0];
  }
  return value;
}

}  // namespace hone::generators
