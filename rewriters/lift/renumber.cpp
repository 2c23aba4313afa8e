// Reductions whose rounds are counted from where each result begins, counted from one place for
// all: sum over k < n - x of A[k + x] => sum over k < n with k >= x of A[k]. A triangle's loops
// become those of a product with zeros, which share what they load.
#include <algorithm>
#include <map>

#include "rewriters/lift/nests.h"
#include "rewriters/lift/node_math.h"

namespace hone::lift {
namespace {

/// The new number: offset + round, or offset - round.
struct Numbering {
  Ref offset = nullptr;
  bool falls = false;
};

/// A reduction of values where a condition holds, opened.
struct Guarded {
  std::string op;
  std::vector<SymbolId> symbols;
  Ref condition = nullptr, value = nullptr;
};

bool uses_any(Ref value, const std::vector<SymbolId>& symbols) {
  return std::ranges::any_of(symbols, [&](SymbolId symbol) { return value->uses(symbol); });
}

/// Indices that loads depend on, each load's counted; then loads that are off by a constant.
std::pair<std::size_t, std::size_t> dependence(Ref value) {
  std::size_t indices = 0, off = 0;
  for (const Ref load : loads_in(value)) {
    indices += load->free.size();
    off += load->args[0]->constant != 0 ? 1 : 0;
  }
  return {indices, off};
}

/// What a round is added to, or taken from, in the elements that are loaded.
std::vector<Numbering> numberings(Nodes& nodes, const Guarded& fold, SymbolId symbol) {
  std::vector<Numbering> all;
  const Ref round = peel(nodes.index(symbol));
  const auto offer = [&](Ref offset, bool falls) {
    if (!offset->is_constant()) all.push_back({offset, falls});
  };
  for (const Ref load : loads_in(fold.value)) {
    const Ref element = load->args[0];
    const auto own = std::ranges::find(element->terms, round, &Term::atom);
    if (own == element->terms.end()) continue;
    const std::int64_t step = own->coefficient;
    Ref same = nodes.integer(0), opposite = nodes.integer(0);
    for (const Term& term : element->terms) {
      if (uses_any(term.atom, fold.symbols)) continue;
      if (term.coefficient == step) same = nodes.add(same, term.atom);
      if (term.coefficient == -step) opposite = nodes.add(opposite, term.atom);
    }
    const std::int64_t over = element->constant / step;
    offer(same, false);
    offer(opposite, true);
    if (over == 0 || element->constant % step != 0) continue;
    if (!same->is_constant()) offer(nodes.add(same, nodes.integer(over)), false);
    if (!opposite->is_constant()) offer(nodes.subtract(opposite, nodes.integer(over)), true);
  }
  return all;
}

/// "min(a, b) + c >= 0" as two, and so on: what is at least the larger is at least both.
Ref split(Nodes& nodes, Ref condition) {
  Ref all = nodes.boolean(true);
  for (const Ref part : conjuncts(condition)) {
    Ref made = part;
    if (part->is(">=0")) {
      for (const Term& term : part->args[0]->terms) {
        if (!term.atom->is(term.coefficient > 0 ? "min" : "max")) continue;
        const Ref rest = nodes.subtract(part->args[0], nodes.scale(term.atom, term.coefficient));
        const auto with = [&](Ref arg) {
          return split(nodes,
                       nodes.non_negative(nodes.add(rest, nodes.scale(arg, term.coefficient))));
        };
        made = nodes.both(with(term.atom->args[0]), with(term.atom->args[1]));
        break;
      }
    }
    all = nodes.both(all, made);
  }
  return all;
}

/// What `symbol` can be where the condition holds.
Range narrowed(Nodes& nodes, Range all, Ref condition, SymbolId symbol) {
  const Ref atom = peel(nodes.index(symbol));
  for (const Ref part : conjuncts(condition)) {
    if (!part->is(">=0")) continue;
    const auto own = std::ranges::find(part->args[0]->terms, atom, &Term::atom);
    if (own == part->args[0]->terms.end()) continue;
    const std::int64_t by = own->coefficient;
    const Ref rest = nodes.subtract(part->args[0], nodes.scale(atom, by));
    const auto range = rest->uses(symbol) ? std::nullopt : nodes.range(rest);
    if (!range) continue;
    if (by > 0) {
      all.low = std::max(all.low, -floor_divide(range->high, by));
    } else {
      all.high = std::min(all.high, floor_divide(range->high, -by));
    }
  }
  return all;
}

/// The fold with rounds of `symbol` numbered so; null: that takes more of them.
Ref numbered(Nodes& nodes, const Guarded& fold, SymbolId symbol, const Numbering& as,
             std::pair<std::size_t, std::size_t>& dependent) {
  const std::int64_t rounds = nodes.extent(symbol);
  const auto offset = nodes.range(as.offset);
  if (!offset) return nullptr;
  Range all = as.falls ? Range{offset->low - rounds + 1, offset->high}
                       : Range{offset->low, offset->high + rounds - 1};
  // Counted from the lowest for now.
  const std::string name = nodes.symbol(symbol).name;
  const SymbolId wide = nodes.new_symbol(name, all.high - all.low + 1);
  const auto round_at = [&](Ref number) {
    return as.falls ? nodes.subtract(as.offset, number) : nodes.subtract(number, as.offset);
  };
  const Ref from_low = round_at(nodes.add(nodes.index(wide), nodes.integer(all.low)));
  const Ref in_rounds =
      nodes.both(nodes.non_negative(from_low),
                 nodes.non_negative(nodes.subtract(nodes.integer(rounds - 1), from_low)));
  const Ref holds =
      split(nodes, nodes.both(in_rounds, nodes.substitute(fold.condition, {{symbol, from_low}})));
  const Range left = narrowed(nodes, {0, all.high - all.low}, holds, wide);
  all = {all.low + left.low, all.low + left.high};
  const std::int64_t most = rounds + rounds / 16;
  const std::int64_t first = all.low >= 0 && all.high + 1 <= most ? 0 : all.low;
  if (all.high < all.low || all.high - first + 1 > most) return nullptr;

  const SymbolId number = nodes.new_symbol(name, all.high - first + 1);
  const Ref absolute = nodes.add(nodes.index(number), nodes.integer(first));
  const Ref round = round_at(absolute);
  const Ref value = nodes.substitute(fold.value, {{symbol, round}});
  dependent = dependence(value);
  Ref condition = nodes.substitute(fold.condition, {{symbol, round}});
  condition = nodes.both(condition, nodes.non_negative(round));
  condition =
      nodes.both(condition, nodes.non_negative(nodes.subtract(nodes.integer(rounds - 1), round)));
  std::vector<SymbolId> symbols = fold.symbols;
  std::ranges::replace(symbols, symbol, number);
  return nodes.reduce(
      fold.op, symbols,
      nodes.select(split(nodes, condition), value, nodes.identity(fold.op, value->type)));
}

/// The best numbering of one of its indices; null: it is good as it is.
Ref renumbered_once(Nodes& nodes, const Guarded& fold) {
  Ref best = nullptr;
  const auto before = dependence(fold.value);
  auto least = before;
  for (const SymbolId symbol : fold.symbols) {
    for (const Numbering& numbering : numberings(nodes, fold, symbol)) {
      auto dependent = before;
      const Ref made = numbered(nodes, fold, symbol, numbering, dependent);
      if (made == nullptr || dependent.first >= before.first || dependent >= least) continue;
      best = made;
      least = dependent;
    }
  }
  return best;
}

/// Two of the symbols as one, where the body asks for inner + extent(inner) * outer alone.
bool join_two(Nodes& nodes, std::vector<SymbolId>& symbols, Ref& body) {
  for (const SymbolId inner : symbols) {
    for (const SymbolId outer : symbols) {
      const std::int64_t size = nodes.extent(inner);
      if (inner == outer || !body->uses(inner) || !body->uses(outer)) continue;
      const SymbolId whole = nodes.new_symbol("k", size * nodes.extent(outer));
      const Ref made = nodes.substitute(
          body,
          {{inner, nodes.subtract(nodes.index(whole), nodes.scale(nodes.index(outer), size))}});
      if (made->uses(outer)) continue;
      body = made;
      std::ranges::replace(symbols, outer, whole);
      std::erase(symbols, inner);
      return true;
    }
  }
  return false;
}

}  // namespace

Ref renumbered(Nodes& nodes, Ref value) {
  return nodes.replace(value, [&](Ref node) -> Ref {
    if (node->kind != Node::Kind::kReduce || node->op.starts_with("arg")) return nullptr;
    Nodes::Opened opened = nodes.open(node);
    Ref body = peel(renumbered(nodes, opened.body));
    while (join_two(nodes, opened.symbols, body)) {
    }
    body = peel(body);
    const Ref made = nodes.reduce(node->op, opened.symbols, body);
    if (!body->is("select") || body->args[2] != nodes.identity(node->op, node->type)) return made;
    const Ref better =
        renumbered_once(nodes, {node->op, opened.symbols, body->args[0], body->args[1]});
    return better == nullptr ? made : better;
  });
}

}  // namespace hone::lift
