#include "rewriters/nest/canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <set>
#include <string_view>

#include "rewriters/affine/equations.h"
#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"
#include "rewriters/nest/refusal.h"
#include "rewriters/nest/renumber.h"
#include "rewriters/nest/unify.h"

namespace hone::nest {
namespace {

/// All of a store that must change together.
void substitute(Nodes& nodes, Scattered& store, const Nodes::Substitution& values) {
  store.element = nodes.substitute(store.element, values);
  store.guard = nodes.substitute(store.guard, values);
  store.value = nodes.substitute(store.value, values);
}

bool uses(const Scattered& store, SymbolId symbol) {
  return store.element->uses(symbol) || store.guard->uses(symbol) || store.value->uses(symbol);
}

void drop_unused(Nodes& nodes, Scattered& store) {
  std::erase_if(store.symbols, [&](SymbolId symbol) {
    return nodes.extent(symbol) == 1 || (!store.combine && !uses(store, symbol));
  });
}

/// outer and inner as one index, where only extent(inner) * outer + inner is of interest.
bool join_two(Nodes& nodes, Scattered& store) {
  for (const SymbolId inner : store.symbols) {
    for (const SymbolId outer : store.symbols) {
      if (inner == outer || !uses(store, inner) || !uses(store, outer)) continue;
      const std::int64_t size = nodes.extent(inner);
      // Quick: where both are in the element, it must be as one.
      const Strides strides = strides_in(store.element, {inner, outer});
      const bool direct = std::ranges::none_of(strides.others, [&](const Term& term) {
        return term.atom->uses(inner) || term.atom->uses(outer);
      });
      if (direct && strides.of[1] != strides.of[0] * size) continue;
      std::string name = nodes.symbol(inner).name;
      constexpr std::string_view kThread = "threadIdx.";
      // "threadIdx.x", or a digit of it, "threadIdx.x1".
      if (name.starts_with(kThread)) name = name.substr(kThread.size(), 1);
      const SymbolId whole = nodes.new_symbol(name, size * nodes.extent(outer));
      Scattered joined = store;
      substitute(
          nodes, joined,
          {{inner, nodes.subtract(nodes.index(whole), nodes.scale(nodes.index(outer), size))}});
      if (uses(joined, outer)) continue;
      std::erase(joined.symbols, inner);
      std::ranges::replace(joined.symbols, outer, whole);
      store = std::move(joined);
      return true;
    }
  }
  return false;
}

/// A condition on a sum that is one of its slowest index alone, a bound of that: 8 i + j < 24,
/// where j is below 8.
bool bound_one(Nodes& nodes, Scattered& store) {
  for (const Ref part : conjuncts(store.guard)) {
    if (!part->is(Op::kNonNegative) || part->args[0]->terms.empty()) continue;
    const std::vector<Term>& terms = part->args[0]->terms;
    const auto one_sign = [&](const Term& term) {
      return term.atom->kind == Node::Kind::kIndex &&
             (term.coefficient > 0) == (terms[0].coefficient > 0);
    };
    if (!std::ranges::all_of(terms, one_sign)) continue;
    const auto step = [](const Term& term) { return std::abs(term.coefficient); };
    const Term& slowest = *std::ranges::max_element(terms, {}, step);
    std::int64_t others = 0;  // at most
    for (const Term& term : terms)
      if (&term != &slowest) others += step(term) * (nodes.extent(term.atom->symbol) - 1);
    const SymbolId symbol = slowest.atom->symbol;
    const std::int64_t size = nodes.extent(symbol), by = step(slowest);
    std::int64_t low = 0, high = size;
    const std::int64_t bound = part->args[0]->constant;
    if (slowest.coefficient > 0) {
      if (bound >= 0) continue;
      low = (-bound + by - 1) / by;
      if (by * (low - 1) + others >= -bound) continue;
    } else {
      if (bound < 0) continue;
      high = std::min(size, bound / by + 1);
      if (high < size && by * (high - 1) + others > bound) continue;
    }
    if (high <= low || (low == 0 && high == size)) continue;
    const SymbolId smaller = nodes.new_symbol(nodes.symbol(symbol).name, high - low);
    substitute(nodes, store, {{symbol, nodes.add(nodes.index(smaller), nodes.integer(low))}});
    std::ranges::replace(store.symbols, symbol, smaller);
    return true;
  }
  return false;
}

/// A condition that leaves one value of some indices: i == 3; i + j == 0.
bool pin_one(Nodes& nodes, Scattered& store) {
  for (const Ref part : conjuncts(store.guard)) {
    if (!part->is(Op::kIsZero)) continue;
    const Ref sum = part->args[0];
    bool indices = !sum->terms.empty(), positive = sum->constant == 0;
    for (const Term& term : sum->terms) {
      indices = indices && term.atom->kind == Node::Kind::kIndex;
      positive = positive && term.coefficient > 0;
    }
    if (!indices) continue;
    Nodes::Substitution pinned;
    if (positive) {
      for (const Term& term : sum->terms) pinned[term.atom->symbol] = nodes.integer(0);
    } else if (sum->terms.size() == 1 && sum->constant % sum->terms[0].coefficient == 0) {
      const std::int64_t at = -sum->constant / sum->terms[0].coefficient;
      const SymbolId symbol = sum->terms[0].atom->symbol;
      if (at < 0 || at >= nodes.extent(symbol)) continue;
      pinned[symbol] = nodes.integer(at);
    }
    if (pinned.empty()) continue;
    substitute(nodes, store, pinned);
    std::erase_if(store.symbols, [&](SymbolId symbol) { return pinned.contains(symbol); });
    return true;
  }
  return false;
}

/// The divisors that an index is taken apart by.
void find_divisors(Ref value, SymbolId symbol, std::set<std::int64_t>& all, std::set<Ref>& seen,
                   bool& other) {
  if (!value->uses(symbol) || !seen.insert(value).second) return;
  const auto is_index = [&](Ref sum) {
    return peel(sum)->kind == Node::Kind::kIndex && peel(sum)->symbol == symbol;
  };
  if (value->is(Op::kDiv, Op::kMod) && value->args[1]->is_constant()) {
    const std::int64_t by = value->args[1]->constant;
    if (is_index(value->args[0])) {
      all.insert(by);
      return;
    }
    const Ref inner = peel(value->args[0]);
    if (value->is(Op::kMod) && inner->is(Op::kDiv) && is_index(inner->args[0]) &&
        inner->args[1]->is_constant()) {
      all.insert(inner->args[1]->constant);
      all.insert(inner->args[1]->constant * by);
      return;
    }
    other = true;
  }
  for (const Ref arg : value->args) find_divisors(arg, symbol, all, seen, other);
  for (const Term& term : value->terms) find_divisors(term.atom, symbol, all, seen, other);
}

bool take_apart(Nodes& nodes, Scattered& store) {
  for (const SymbolId symbol : store.symbols) {
    std::set<std::int64_t> divisors, of_element;
    std::set<Ref> seen;
    bool other = false;
    find_divisors(store.element, symbol, of_element, seen, other);
    seen.clear();
    for (const Ref part : {store.element, store.guard, store.value})
      find_divisors(part, symbol, divisors, seen, other);
    std::vector<std::int64_t> chain;
    const std::int64_t size = nodes.extent(symbol);
    for (const std::int64_t divisor : divisors) {
      if (divisor <= 1 || divisor >= size) continue;
      // Else there were elements with two names.
      if (size % divisor != 0 && store.element->uses(symbol) && !of_element.contains(divisor)) {
        continue;
      }
      if (!chain.empty() && divisor % chain.back() != 0) {
        chain.clear();
        break;
      }
      chain.push_back(divisor);
    }
    if (chain.empty()) continue;
    // Digits, the fastest first.
    std::vector<SymbolId> digits;
    Ref sum = nodes.integer(0);
    std::int64_t before = 1;
    const std::string name = nodes.symbol(symbol).name;
    for (std::size_t i = 0; i <= chain.size(); ++i) {
      const std::int64_t next = i < chain.size() ? chain[i] : ceil_divide(size, before) * before;
      const SymbolId digit =
          nodes.new_symbol(fmt::format("{}{}", name, chain.size() - i), next / before);
      sum = nodes.add(sum, nodes.scale(nodes.index(digit), before));
      digits.push_back(digit);
      before = next;
    }
    Scattered apart = store;
    if (before != size) {
      apart.guard = nodes.both(apart.guard, nodes.less(nodes.index(symbol), nodes.integer(size)));
      // Said again of the digits below.
      const Ref within = nodes.less(sum, nodes.integer(size));
      substitute(nodes, apart, {{symbol, sum}});
      apart.guard = nodes.both(apart.guard, within);
    } else {
      substitute(nodes, apart, {{symbol, sum}});
    }
    std::erase(apart.symbols, symbol);
    apart.symbols.insert(apart.symbols.end(), digits.begin(), digits.end());
    store = std::move(apart);
    return true;
  }
  return false;
}

/// "blockIdx.x and threadIdx.y"
std::string names_of(const Nodes& nodes, const std::vector<SymbolId>& symbols) {
  std::string text;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (i > 0) text += i + 1 < symbols.size() ? ", " : " and ";
    text += nodes.symbol(symbols[i]).name;
  }
  return text;
}

/// Letters that matter to a reader are few, and a value may be long as text.
std::string short_text(const Nodes& nodes, Ref value) {
  constexpr std::size_t kMostLetters = 120;
  std::string text = to_string(nodes, value);
  if (text.size() > kMostLetters) text = text.substr(0, kMostLetters) + " …";
  return "'" + text + "'";
}

struct Stride {
  SymbolId symbol;
  std::int64_t coefficient;
};

}  // namespace

Nest canonical(Nodes& nodes, Scattered store, const ConcreteBuffer& buffer) {
  const auto fail = [&](const std::string& reason) -> void {
    throw Refusal{reason, store.position};
  };
  // In the value, what the guard says is known.
  const auto settle = [&] {
    Facts facts;
    facts.add(store.guard);
    store.value = under(nodes, store.value, facts);
  };
  settle();
  drop_unused(nodes, store);
  for (bool again = true; again;) {
    again = pin_one(nodes, store) || bound_one(nodes, store) || join_two(nodes, store);
    drop_unused(nodes, store);
    if (!again) again = take_apart(nodes, store);
    if (again) settle();
  }
  Rerolled known;
  store.value = renumbered(nodes, rerolled(nodes, store.value, known));

  Nest nest;
  nest.buffer = store.buffer;
  nest.type = store.type;
  nest.combine = store.combine;
  // Indices that no element tells apart.
  std::vector<SymbolId> folded;
  for (const SymbolId symbol : store.symbols) {
    if (!store.element->uses(symbol)) folded.push_back(symbol);
  }
  if (!folded.empty()) {
    if (!store.combine)
      fail(fmt::format(
          "it cannot be shown that one thread alone writes an element of '{}': where it "
          "is written does not depend on {}",
          store.buffer, names_of(nodes, folded)));
    std::erase_if(store.symbols,
                  [&](SymbolId s) { return std::ranges::find(folded, s) != folded.end(); });
    const Ref nothing = nodes.identity(*store.combine, store.value->type);
    Ref outside = nodes.boolean(true), inside = nodes.boolean(true);
    for (const Ref part : conjuncts(store.guard)) {
      const bool inner = std::ranges::any_of(folded, [&](SymbolId s) { return part->uses(s); });
      (inner ? inside : outside) = nodes.both(inner ? inside : outside, part);
    }
    store.value = renumbered(
        nodes, nodes.reduce(*store.combine, folded, nodes.select(inside, store.value, nothing)));
    store.guard = outside;
  }
  bool affine = !store.element->has_load;
  std::vector<Stride> strides;
  for (const SymbolId symbol : store.symbols) {
    std::int64_t coefficient = 0;
    for (const Term& term : store.element->terms) {
      if (term.atom->kind == Node::Kind::kIndex) {
        if (term.atom->symbol == symbol) coefficient = term.coefficient;
      } else {
        affine = false;
      }
    }
    strides.push_back({symbol, coefficient});
  }
  if (!affine) {
    if (!store.combine)
      fail(fmt::format(
          "where '{}' is written, at {}, is no sum of multiples of indices: that no two "
          "threads write one element cannot be shown",
          store.buffer, short_text(nodes, store.element)));
    nest.dims = store.symbols;
    nest.element = store.element;
    nest.guard = store.guard;
    nest.value = store.value;
    return nest;
  }
  // Falling indices turned around.
  for (Stride& stride : strides) {
    if (stride.coefficient >= 0) continue;
    const SymbolId turned =
        nodes.new_symbol(nodes.symbol(stride.symbol).name, nodes.extent(stride.symbol));
    substitute(nodes, store,
               {{stride.symbol,
                 nodes.subtract(nodes.integer(nodes.extent(turned) - 1), nodes.index(turned))}});
    stride = {turned, -stride.coefficient};
  }
  std::ranges::sort(strides, std::greater<>(), &Stride::coefficient);
  std::int64_t below = 0, count = 1;
  for (auto stride = strides.rbegin(); stride != strides.rend(); ++stride) {
    if (stride->coefficient <= below) {
      if (!store.combine) {
        fail(fmt::format("it cannot be shown that no element of '{}' is written twice, at {}",
                         store.buffer, short_text(nodes, store.element)));
      }
    }
    below += stride->coefficient * (nodes.extent(stride->symbol) - 1);
    count *= nodes.extent(stride->symbol);
    nest.dims.insert(nest.dims.begin(), stride->symbol);
  }
  nest.element = store.element;
  nest.guard = store.guard;
  nest.value = store.value;
  nest.covers = nest.guard->is_constant() && nest.guard->constant != 0 &&
                store.element->constant == 0 && count == buffer.elements() && below == count - 1;
  return nest;
}

Nest taken_apart(Nodes& nodes, Nest nest, const ConcreteBuffer& buffer) {
  if (nest.combine) return nest;
  Scattered store{nest.buffer, nest.type, nest.dims, nest.element, nest.guard, nest.value, {}, -1};
  if (!take_apart(nodes, store)) return nest;
  try {
    return canonical(nodes, std::move(store), buffer);
  } catch (const Refusal&) {
    return nest;
  }
}

namespace {

/// Stores of one thread side by side as one store with an index of its own, or two: a tile.
std::optional<Scattered> as_one(Nodes& nodes, const std::vector<Scattered>& stores,
                                const std::vector<std::size_t>& which) {
  const auto count = static_cast<std::int64_t>(which.size());
  std::vector<std::vector<std::int64_t>> shapes{{count}};
  for (std::int64_t r = 2; r < count; ++r)
    if (count % r == 0) shapes.push_back({r, count / r});
  const Scattered& first = stores[which[0]];
  for (const auto& shape : shapes) {
    Basis basis;
    for (const std::int64_t extent : shape)
      basis.symbols.push_back(nodes.new_symbol("part", extent));
    std::vector<Ref> elements, values, guards;
    for (std::int64_t i = 0; i < count; ++i) {
      basis.digits.push_back({});
      std::int64_t rest = i;
      for (const std::int64_t extent : shape) {
        basis.digits.back().push_back(rest % extent);
        rest /= extent;
      }
      const Scattered& store = stores[which[static_cast<std::size_t>(i)]];
      elements.push_back(store.element);
      values.push_back(store.value);
      guards.push_back(store.guard);
    }
    Scattered merged = first;
    merged.element = unified(nodes, elements, basis);
    if (merged.element == nullptr) continue;
    merged.value = unified(nodes, values, basis);
    if (merged.value == nullptr) continue;
    merged.guard = unified(nodes, guards, basis);
    if (merged.guard == nullptr) continue;
    for (const SymbolId symbol : basis.symbols) merged.symbols.push_back(symbol);
    return merged;
  }
  return std::nullopt;
}

}  // namespace

namespace {

/// How many stores to try as one next. Of many not every number: each takes as long as there are
/// stores.
std::size_t next_fewer(std::size_t count) {
  constexpr std::size_t kFew = 32;
  return count <= kFew ? count - 1 : std::bit_floor(count - 1);
}

}  // namespace

std::vector<Nest> nests_of(Nodes& nodes, std::vector<Scattered> stores,
                           const ConcreteProgram& program) {
  std::vector<Nest> nests;
  const auto find = [&](const std::string& name) -> const ConcreteBuffer& {
    return *std::ranges::find(program.buffers, name, &ConcreteBuffer::name);
  };
  // Neighbours that one thread writes are one more index.
  for (std::size_t i = 0; i < stores.size(); ++i) {
    std::vector<std::size_t> alike{i};
    const Scattered& first = stores[i];
    for (std::size_t j = i + 1; j < stores.size(); ++j) {
      const Scattered& next = stores[j];
      if (next.buffer != first.buffer || next.symbols != first.symbols ||
          next.combine != first.combine) {
        break;
      }
      const Ref over = nodes.subtract(next.element, first.element);
      if (!over->is_constant() || over->constant == 0) break;
      alike.push_back(j);
    }
    for (; alike.size() > 1; alike.resize(next_fewer(alike.size()))) {
      auto merged = as_one(nodes, stores, alike);
      if (!merged) continue;
      stores[i] = std::move(*merged);
      stores.erase(stores.begin() + static_cast<std::ptrdiff_t>(alike[1]),
                   stores.begin() + static_cast<std::ptrdiff_t>(alike.back()) + 1);
      break;
    }
  }
  for (Scattered& store : stores) {
    const int position = store.position;
    Nest nest = canonical(nodes, std::move(store), find(store.buffer));
    for (const Nest& earlier : nests) {
      if (earlier.buffer != nest.buffer) continue;
      // Their indices are their own. Who of two threads comes last is not said.
      Facts facts;
      facts.add(earlier.guard);
      facts.add(nest.guard);
      if (earlier.combine == nest.combine && nest.combine) continue;
      if (apart(nodes, earlier.element, nest.element, facts)) continue;
      throw Refusal{fmt::format("'{}' is written in two places that cannot be shown not to meet",
                                nest.buffer),
                    position};
    }
    nests.push_back(std::move(nest));
  }
  return nests;
}

}  // namespace hone::nest
