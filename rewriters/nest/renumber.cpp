// Reductions whose rounds are counted from where each result begins, counted from one place for
// all: sum over k < n - x of A[k + x] => sum over k < n with k >= x of A[k]. A triangle's loops
// become those of a product with zeros, which share what they load.
#include "rewriters/nest/renumber.h"

#include <algorithm>
#include <map>

#include "rewriters/affine/integers.h"

namespace hone::nest {

Range narrowed(Nodes& nodes, Range all, Ref condition, SymbolId symbol) {
  const Ref atom = peel(nodes.index(symbol));
  for (const Ref part : conjuncts(condition)) {
    if (!part->is(Op::kNonNegative)) continue;
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

namespace {

/// The new number: offset + round, or offset - round.
struct Numbering {
  Ref offset = nullptr;
  bool falls = false;
};

/// A reduction of values where a condition holds, opened.
struct Guarded {
  Op op = Op::kAdd;
  std::vector<SymbolId> symbols;
  Ref condition = nullptr, value = nullptr;
};

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

/// The two that a value is the larger (or the smaller) of, also where it is a choice: i < 0 ? -i :
/// i.
std::vector<Ref> either_of(Nodes& nodes, Ref value, bool larger) {
  if (value->is(larger ? Op::kMax : Op::kMin)) return value->args;
  if (!value->is(Op::kSelect) || !value->args[0]->is(Op::kNonNegative)) return {};
  // Where v >= 0 the first, which is then more by a multiple of v.
  const Ref over = nodes.subtract(value->args[1], value->args[2]), v = value->args[0]->args[0];
  if (v->terms.empty() || over->terms.empty()) return {};
  for (const std::int64_t more : {std::int64_t{0}, std::int64_t{1}}) {  // also where v > 0, v + 1
    const Ref base = nodes.add(v, nodes.integer(more));
    const std::int64_t by = over->terms[0].coefficient / base->terms[0].coefficient;
    if (by != 0 && (by > 0) == larger && over == nodes.scale(base, by)) {
      return {value->args[1], value->args[2]};
    }
  }
  return {};
}

/// "min(a, b) + c >= 0" as two, and so on: what is at least the larger is at least both.
Ref split(Nodes& nodes, Ref condition) {
  Ref all = nodes.boolean(true);
  for (const Ref part : conjuncts(condition)) {
    Ref made = part;
    if (part->is(Op::kNonNegative)) {
      for (const Term& term : part->args[0]->terms) {
        const std::vector<Ref> both = either_of(nodes, term.atom, term.coefficient < 0);
        if (both.empty()) continue;
        const Ref rest = nodes.subtract(part->args[0], nodes.scale(term.atom, term.coefficient));
        const auto with = [&](Ref arg) {
          return split(nodes,
                       nodes.non_negative(nodes.add(rest, nodes.scale(arg, term.coefficient))));
        };
        made = nodes.both(with(both[0]), with(both[1]));
        break;
      }
    }
    all = nodes.both(all, made);
  }
  return all;
}

/// The lowest and the highest that a condition's parts leave `symbol`, as sums: every pair.
std::vector<std::pair<Ref, Ref>> intervals(Nodes& nodes, Ref condition, SymbolId symbol) {
  const Ref atom = peel(nodes.index(symbol));
  std::vector<Ref> lows, highs;
  for (const Ref part : conjuncts(condition)) {
    if (!part->is(Op::kNonNegative)) continue;
    const auto own = std::ranges::find(part->args[0]->terms, atom, &Term::atom);
    if (own == part->args[0]->terms.end()) continue;
    const Ref rest = nodes.subtract(part->args[0], nodes.scale(atom, own->coefficient));
    if (own->coefficient == 1) lows.push_back(nodes.scale(rest, -1));
    if (own->coefficient == -1) highs.push_back(rest);
  }
  std::vector<std::pair<Ref, Ref>> all;
  for (const Ref low : lows)
    for (const Ref high : highs) all.emplace_back(low, high);
  return all;
}

/// Is what was a neighbourhood of a place, which loads told, now told by conditions alone? Then no
/// load is shared as in a product; a prefix or a window of one size is still known as such.
bool hides_place(Nodes& nodes, Ref before, Ref after, Ref condition, SymbolId symbol) {
  std::vector<SymbolId> told;
  for (const Ref load : loads_in(after))
    told.insert(told.end(), load->free.begin(), load->free.end());
  bool hidden = false;
  for (const Ref load : loads_in(before)) {
    hidden |= std::ranges::any_of(load->free, [&](SymbolId one) {
      return condition->uses(one) && std::ranges::find(told, one) == told.end();
    });
  }
  bool two_sided = false, one_size = false;
  for (const auto& [low, high] : intervals(nodes, condition, symbol)) {
    if (low->is_constant() || high->is_constant()) continue;
    two_sided = true;
    one_size |= nodes.subtract(high, low)->is_constant();
  }
  return hidden && two_sided && !one_size;
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
  // Parts about other symbols stay whole: these have their turn.
  Ref condition = nodes.boolean(true);
  for (const Ref part : conjuncts(fold.condition)) {
    const Ref here = nodes.substitute(part, {{symbol, round}});
    condition = nodes.both(condition, part->uses(symbol) ? split(nodes, here) : here);
  }
  condition = nodes.both(condition, split(nodes, nodes.non_negative(round)));
  condition = nodes.both(
      condition,
      split(nodes, nodes.non_negative(nodes.subtract(nodes.integer(rounds - 1), round))));
  if (hides_place(nodes, fold.value, value, condition, number)) return nullptr;
  std::vector<SymbolId> symbols = fold.symbols;
  std::ranges::replace(symbols, symbol, number);
  return nodes.reduce(fold.op, symbols,
                      nodes.select(condition, value, nodes.identity(fold.op, value->type)));
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

/// A few neighbours of a place that no load depends on otherwise are a window, counted from its
/// edge: sum over k < n with x - 3 <= k <= x + 3 of A[k] => sum over k < 7 of A[k + x - 3], where
/// that is one. Null: there is none.
Ref as_window(Nodes& nodes, const Guarded& fold) {
  for (const SymbolId symbol : fold.symbols) {
    const std::int64_t rounds = nodes.extent(symbol);
    for (const auto& [low, high] : intervals(nodes, fold.condition, symbol)) {
      const Ref width = nodes.subtract(high, low);
      if (low->is_constant() || !width->is_constant()) continue;
      const std::int64_t points = width->constant + 1;
      if (points < 1 || 2 * points > rounds) continue;
      const bool loads_elsewhere = std::ranges::any_of(loads_in(fold.value), [&](Ref load) {
        return std::ranges::any_of(low->free, [&](SymbolId s) { return load->uses(s); });
      });
      if (loads_elsewhere || uses_any(low, fold.symbols)) continue;
      const SymbolId point = nodes.new_symbol(nodes.symbol(symbol).name, points);
      const Ref at = nodes.add(low, nodes.index(point));
      std::vector<SymbolId> symbols = fold.symbols;
      std::ranges::replace(symbols, symbol, point);
      Ref condition = nodes.substitute(fold.condition, {{symbol, at}});
      condition = nodes.both(condition, nodes.non_negative(at));
      condition = nodes.both(condition, nodes.less(at, nodes.integer(rounds)));
      const Ref value = nodes.substitute(fold.value, {{symbol, at}});
      return nodes.reduce(fold.op, symbols,
                          nodes.select(condition, value, nodes.identity(fold.op, value->type)));
    }
  }
  return nullptr;
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

/// A reduction whose body is as it should be; what came of it may have less to reduce.
Ref renumbered_fold(Nodes& nodes, Ref value) {
  const Ref node = peel(value);
  if (node->kind != Node::Kind::kReduce) return value;
  const Nodes::Opened opened = nodes.open(node);
  const Ref body = peel(opened.body), nothing = nodes.identity(node->op, node->type);
  if (!body->is(Op::kSelect) || body->args[2] != nothing) return value;
  Guarded fold{node->op, opened.symbols, body->args[0], body->args[1]};
  if (const Ref better = renumbered_once(nodes, fold)) return renumbered_fold(nodes, better);
  // Not before: what is added to a bound is known by its whole.
  fold.condition = split(nodes, fold.condition);
  if (const Ref window = as_window(nodes, fold)) return renumbered_fold(nodes, window);
  return nodes.reduce(fold.op, fold.symbols, nodes.select(fold.condition, fold.value, nothing));
}

/// Loops that only fall, rising: sum over k < n of A[x - k] is of A[x - n + 1 + k].
void turn_falling(Nodes& nodes, const std::vector<SymbolId>& symbols, Ref& body) {
  for (const SymbolId symbol : symbols) {
    const Ref atom = peel(nodes.index(symbol));
    bool falls = false, rises = false;
    for (const Ref load : loads_in(body)) {
      if (!load->uses(symbol)) continue;
      const auto own = std::ranges::find(load->args[0]->terms, atom, &Term::atom);
      const bool down = own != load->args[0]->terms.end() && own->coefficient < 0;
      (down ? falls : rises) = true;
    }
    if (!falls || rises) continue;
    const Ref last = nodes.integer(nodes.extent(symbol) - 1);
    body = nodes.substitute(body, {{symbol, nodes.subtract(last, nodes.index(symbol))}});
  }
}

}  // namespace

Ref renumbered(Nodes& nodes, Ref value) {
  return nodes.replace(value, [&](Ref node) -> Ref {
    if (node->kind != Node::Kind::kReduce || !info(node->op).is(OpInfo::kFolds)) return nullptr;
    if (const Ref made = distributed(nodes, node)) return renumbered(nodes, made);
    Nodes::Opened opened = nodes.open(node);
    Ref body = peel(renumbered(nodes, opened.body));
    turn_falling(nodes, opened.symbols, body);
    while (join_two(nodes, opened.symbols, body)) {
    }
    return renumbered_fold(nodes, nodes.reduce(node->op, opened.symbols, body));
  });
}

}  // namespace hone::nest
