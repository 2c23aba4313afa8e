// Reductions: nested ones become one, conditions become bounds, what no index changes goes out.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/node.h"

namespace hone::nest {

Nodes::Opened Nodes::open(Ref reduction) {
  Opened opened;
  Substitution fresh;
  for (const SymbolId symbol : reduction->symbols) {
    const SymbolId own = new_symbol(symbols_[symbol].name, extent(symbol));
    opened.symbols.push_back(own);
    fresh[symbol] = index(own);
  }
  opened.body = substitute(reduction->args[0], fresh);
  return opened;
}

Ref Nodes::reduce(Op op, std::vector<SymbolId> symbols, Ref body) {
  const bool arg = op == Op::kArgMin || op == Op::kArgMax;
  const Ref nothing = arg ? nullptr : identity(op, body->type);
  if (!arg) {
    if (body == nothing) return nothing;
    for (const SymbolId symbol : symbols)
      if (extent(symbol) <= 0) return nothing;
    if (peel(body)->kind == Node::Kind::kReduce && peel(body)->op == op) {
      const Opened inner = open(peel(body));
      symbols.insert(symbols.end(), inner.symbols.begin(), inner.symbols.end());
      return reduce(op, std::move(symbols), inner.body);
    }
    // A condition between two folds of one kind goes inside.
    if (const Ref chosen = peel(body); chosen->is(Op::kSelect) && chosen->args[2] == nothing) {
      const Ref inside = peel(chosen->args[1]);
      if (inside->kind == Node::Kind::kReduce && inside->op == op) {
        const Opened inner = open(inside);
        symbols.insert(symbols.end(), inner.symbols.begin(), inner.symbols.end());
        return reduce(op, std::move(symbols), select(chosen->args[0], inner.body, nothing));
      }
    }
    // Conditions that are about one symbol alone are bounds of it; those about none are no
    // business of the reduction.
    const Ref chosen = peel(body);
    if (!plain_conditions && chosen->is(Op::kSelect) && chosen->args[2] == nothing) {
      Ref outside = boolean(true), kept = boolean(true);
      Substitution bounds;
      std::vector<SymbolId> bounded = symbols;
      for (const Ref part : conjuncts(chosen->args[0])) {
        const bool inside =
            std::ranges::any_of(symbols, [&](SymbolId symbol) { return part->uses(symbol); });
        if (!inside) {
          outside = both(outside, part);
          continue;
        }
        const bool simple = part->is(Op::kNonNegative) && part->args[0]->terms.size() == 1 &&
                            part->args[0]->terms[0].atom->kind == Node::Kind::kIndex &&
                            bounds.empty();
        if (!simple) {
          kept = both(kept, part);
          continue;
        }
        const Term& term = part->args[0]->terms[0];
        const auto place = std::ranges::find(bounded, term.atom->symbol);
        const std::int64_t size = extent(*place), constant = part->args[0]->constant;
        // c - k >= 0: k <= c. k - c >= 0: k >= c.
        const std::int64_t low = term.coefficient > 0 ? std::max<std::int64_t>(0, -constant) : 0;
        const std::int64_t high =
            term.coefficient > 0 ? size : std::min<std::int64_t>(size, constant + 1);
        if (high <= low) return nothing;
        const SymbolId smaller = new_symbol(symbols_[*place].name, high - low);
        bounds[*place] = add(index(smaller), integer(low));
        *place = smaller;
      }
      if (!bounds.empty() || !(outside->is_constant())) {
        Ref rest = select(kept, chosen->args[1], nothing);
        if (!bounds.empty()) rest = substitute(rest, bounds);
        return select(outside, reduce(op, bounded, rest), nothing);
      }
    }
  }
  std::vector<SymbolId> used;
  for (const SymbolId symbol : symbols) {
    if (arg || body->uses(symbol)) {
      used.push_back(symbol);
    } else if (op == Op::kAdd) {
      body = is_float(body->type)
                 ? this->op(Op::kMul, body->type,
                            {number(static_cast<double>(extent(symbol)), body->type), body})
                 : scale(body, extent(symbol));
    } else if (op == Op::kMul || op == Op::kBitXor) {
      if (extent(symbol) != 1) used.push_back(symbol);
    }
  }
  if (used.empty()) return arg ? integer(0) : body;
  const int height = body->height + 1;
  Substitution own;
  std::vector<SymbolId> bound;
  static constexpr const char* kNames[] = {"k", "l", "m", "n", "o", "p", "q"};
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto key = std::make_tuple(height, static_cast<int>(i), extent(used[i]));
    auto place = bound_.find(key);
    if (place == bound_.end()) {
      const std::string name =
          fmt::format("{}{}", kNames[std::min(height - 1, 6)], i == 0 ? "" : std::to_string(i));
      place = bound_.emplace(key, new_symbol(name, extent(used[i]))).first;
    }
    bound.push_back(place->second);
    if (place->second != used[i]) own[used[i]] = index(place->second);
  }
  if (!own.empty()) body = substitute(body, own);
  Node node;
  node.kind = Node::Kind::kReduce;
  node.type = arg ? ScalarType::kI64 : body->type;
  node.op = op;
  node.symbols = std::move(bound);
  node.args = {body};
  const Ref made = make(std::move(node));
  return made->is_integer() ? sum(0, {{1, made}}) : made;
}

}  // namespace hone::nest
