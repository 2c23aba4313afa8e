#include "rewriters/nest/prefix.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace hone::nest {
namespace {

/// A reduction over k of what lies before, or behind, `end`: without that itself.
struct Prefix {
  Ref condition = nullptr;  ///< "end - k - 1 >= 0", or the other way round
  Ref end = nullptr;
  bool falls = false;  ///< k > end
  SymbolId k = -1;
  Ref value = nullptr;  ///< at k, where all other conditions hold
};

std::optional<Prefix> prefix_of(Nodes& nodes, Ref reduction) {
  if (reduction->kind != Node::Kind::kReduce || reduction->symbols.size() != 1) return std::nullopt;
  const Nodes::Opened opened = nodes.open(reduction);
  const Ref body = peel(opened.body);
  const Ref nothing = nodes.identity(reduction->op, opened.body->type);
  if (!body->is(Op::kSelect) || body->args[2] != nothing) return std::nullopt;
  Prefix found{.k = opened.symbols[0]};
  const Ref round = peel(nodes.index(found.k));
  Ref others = nodes.boolean(true);
  for (const Ref part : conjuncts(body->args[0])) {
    const bool is_bound = found.condition == nullptr && part->is(Op::kNonNegative);
    const Ref sum = is_bound ? part->args[0] : nullptr;
    const auto own = is_bound ? std::ranges::find(sum->terms, round, &Term::atom)
                              : decltype(part->terms.begin()){};
    if (!is_bound || own == sum->terms.end() || std::abs(own->coefficient) != 1) {
      others = nodes.both(others, part);
      continue;
    }
    const Ref rest =
        nodes.add(nodes.subtract(sum, nodes.scale(round, own->coefficient)), nodes.integer(1));
    if (rest->is_constant()) {
      others = nodes.both(others, part);
      continue;
    }
    found.condition = part;
    found.falls = own->coefficient > 0;
    found.end = found.falls ? nodes.scale(rest, -1) : rest;
  }
  if (found.condition == nullptr || found.end->uses(found.k)) return std::nullopt;
  found.value = nodes.select(others, body->args[1], nothing);
  return found;
}

/// `own` and the reduction as one; null: they are not of the same elements.
Ref joined(Nodes& nodes, Ref reduction, Ref own) {
  const auto prefix = prefix_of(nodes, reduction);
  if (!prefix || nodes.substitute(prefix->value, {{prefix->k, prefix->end}}) != own) return nullptr;
  const auto range = nodes.range(prefix->end);
  const std::int64_t extent = nodes.extent(prefix->k);
  // What lies before an end may end there. What lies behind it goes on: one more would count for
  // all.
  const std::int64_t furthest = prefix->falls ? extent - 1 : extent;
  if (!range || range->low < 0 || range->high > furthest) return nullptr;
  const SymbolId k =
      nodes.new_symbol(nodes.symbol(prefix->k).name, std::max(extent, range->high + 1));
  const Ref round = nodes.index(k);
  const Ref inside = nodes.non_negative(prefix->falls ? nodes.subtract(round, prefix->end)
                                                      : nodes.subtract(prefix->end, round));
  const Ref value = nodes.substitute(prefix->value, {{prefix->k, round}});
  return nodes.reduce(reduction->op, {k},
                      nodes.select(inside, value, nodes.identity(reduction->op, value->type)));
}

Ref with_own_element(Nodes& nodes, Ref node) {
  if (node->kind == Node::Kind::kSum) {
    for (const Term& term : node->terms) {
      if (term.coefficient != 1 || term.atom->kind != Node::Kind::kReduce ||
          term.atom->op != Op::kAdd)
        continue;
      if (const Ref made = joined(nodes, term.atom, nodes.subtract(node, term.atom))) return made;
    }
    return nullptr;
  }
  if (node->kind != Node::Kind::kOp || node->args.size() != 2) return nullptr;
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
    const Ref reduction = peel(node->args[at]);
    if (reduction->kind != Node::Kind::kReduce || reduction->op != node->op) continue;
    if (const Ref made = joined(nodes, reduction, node->args[1 - at])) return made;
  }
  return nullptr;
}

}  // namespace

Ref with_own_elements(Nodes& nodes, Ref value) {
  return nodes.replace(value, [&](Ref node) { return with_own_element(nodes, node); });
}

}  // namespace hone::nest
