// The place of an extreme, beside the extreme itself or alone.
#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"

namespace hone::nest {
namespace {

/// select(condition, new place, the old one).
struct Replaced {
  Ref condition = nullptr;  ///< null: it is none
  Ref place = nullptr;
};

Replaced replaced(Nodes& nodes, Ref after, Ref phi) {
  after = peel(after);
  if (!after->is(Op::kSelect)) return {};
  if (peel(after->args[2]) == peel(phi)) return {after->args[0], after->args[1]};
  if (peel(after->args[1]) == peel(phi)) return {nodes.negate(after->args[0]), after->args[2]};
  return {};
}

/// Is a float `part` "less < more", or "<=" with `ties`?
struct Order {
  Ref less = nullptr;  ///< null: it is none
  Ref more = nullptr;
  bool ties = false;
};

Order order_of(Ref part) {
  const bool turned = part->is(Op::kNot);
  if (turned) part = part->args[0];
  if (!part->is(Op::kLess, Op::kLessEqual)) return {};
  const bool ties = part->is(Op::kLessEqual) != turned;
  return turned ? Order{part->args[1], part->args[0], ties}
                : Order{part->args[0], part->args[1], ties};
}

/// Does `part` say that x is better than `before`? Then whether an equal x is, too.
std::optional<bool> says_better(Nodes& nodes, Ref part, Ref before, Ref x, bool is_max) {
  if (is_float(before->type)) {
    const Order order = order_of(order_alone(part));
    if (order.less != (is_max ? before : x) || order.more != (is_max ? x : before)) return {};
    return order.ties;
  }
  if (!part->is(Op::kNonNegative)) return {};
  const Ref over = is_max ? nodes.subtract(x, before) : nodes.subtract(before, x);
  const Ref left = nodes.subtract(part->args[0], over);
  if (!left->is_constant() || left->constant > 0 || left->constant < -1) return {};
  return left->constant == 0;
}

/// Nothing beats or equals it that is not in the fold.
bool is_inside(Nodes& nodes, Ref start, Op op) {
  return (start->kind == Node::Kind::kFloat || start->is_constant()) &&
         start != nodes.identity(op, start->type);
}

}  // namespace

/// The index at which the values are extreme: the first, or with `last` the last of equals.
Ref Executor::place_of_extreme(Op op, SymbolId symbol, Ref values, bool last) {
  const Op place = op == Op::kMax ? Op::kArgMax : Op::kArgMin;
  if (!last) return nodes_.reduce(place, {symbol}, values);
  const Ref end = nodes_.integer(nodes_.extent(symbol) - 1);
  const Ref backwards =
      nodes_.substitute(values, {{symbol, nodes_.subtract(end, nodes_.index(symbol))}});
  return nodes_.subtract(end, nodes_.reduce(place, {symbol}, backwards));
}

Ref Executor::chosen_at(const Extreme& extreme, SymbolId symbol, Ref place, Ref otherwise) {
  const Ref values = extreme.values;
  // Where it starts from what the round before the first would find, that is one round more.
  const Nodes::Substitution before{{symbol, nodes_.integer(-1)}};
  if (nodes_.substitute(values, before) == extreme.start &&
      peel(nodes_.substitute(place, before)) == peel(otherwise)) {
    const SymbolId longer =
        nodes_.new_symbol(nodes_.symbol(symbol).name, nodes_.extent(symbol) + 1);
    const Ref round = nodes_.subtract(nodes_.index(longer), nodes_.integer(1));
    const Ref at = place_of_extreme(extreme.op, longer,
                                    nodes_.substitute(values, {{symbol, round}}), extreme.ties);
    return nodes_.substitute(place, {{symbol, nodes_.subtract(at, nodes_.integer(1))}});
  }
  const Ref at = place_of_extreme(extreme.op, symbol, values, extreme.ties);
  // Where none is better than the worst there is, all are as bad as the first.
  const bool from_worst = extreme.start == nodes_.identity(extreme.op, extreme.start->type);
  const Nodes::Substitution first{{symbol, nodes_.integer(0)}};
  if (from_worst && !extreme.ties && peel(nodes_.substitute(place, first)) == peel(otherwise)) {
    return nodes_.substitute(place, {{symbol, at}});
  }
  const Ref best = nodes_.reduce(extreme.op, {symbol}, values);
  const bool is_max = extreme.op == Op::kMax;
  const Ref better = nodes_.op(extreme.ties ? Op::kLessEqual : Op::kLess, ScalarType::kBool,
                               {is_max ? extreme.start : best, is_max ? best : extreme.start});
  return nodes_.select(better, nodes_.substitute(place, {{symbol, at}}), otherwise);
}

/// best and where: `where` changes when `best` does.
bool Executor::fold_arg(std::vector<Carried>& carried, Carried& one, SymbolId symbol,
                        const Lanes& guard) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Replaced change = replaced(nodes_, lane(one.after, i), lane(one.phi, i));
    if (change.condition == nullptr || change.place->has_phi) return false;
    Ref found = nullptr;
    for (const Carried& best : carried) {
      if (&best == &one || best.folds.empty() || !best.folds[i]) continue;
      const Folded& fold = *best.folds[i];
      if (fold.op != Op::kMax && fold.op != Op::kMin) continue;
      const Ref nothing = nodes_.identity(fold.op, fold.more->type);
      const Ref more = peel(fold.more);
      const bool bounded = more->is(Op::kSelect) && more->args[2] == nothing;
      const Ref before = lane(best.phi, i), x = bounded ? more->args[1] : fold.more;
      Ref rest = nodes_.boolean(true);
      std::optional<bool> better;
      bool known = true;
      for (const Ref part : conjuncts(change.condition)) {
        if (!part->has_phi) {
          rest = nodes_.both(rest, part);
        } else {
          known = known && !better;
          better = says_better(nodes_, part, before, x, fold.op == Op::kMax);
          known = known && better;
        }
      }
      if (!known || !better || nodes_.select(rest, x, nothing) != fold.more) continue;
      Extreme extreme{fold.op, nodes_.select(lane(guard, i), fold.more, nothing),
                      lane(best.before, i), *better};
      const bool whole = extreme.values == x;
      if (extreme.ties && !whole && !is_inside(nodes_, extreme.start, fold.op)) continue;
      found = chosen_at(extreme, symbol, change.place, lane(one.before, i));
      break;
    }
    if (found == nullptr) return false;
    result.push_back(found);
  }
  shrink(result);
  one.result = result;
  return true;
}

/// where, with x[where] looked up again: x[where] < x[k] ? k : where.
bool Executor::fold_arg_alone(Carried& one, SymbolId symbol, const Lanes& guard) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref phi = peel(lane(one.phi, i));
    if (is_float(phi->type)) return false;
    const Replaced change = replaced(nodes_, lane(one.after, i), phi);
    if (change.condition == nullptr || change.place->has_phi) return false;
    const Order order = order_of(change.condition);
    if (order.less == nullptr || order.less->has_phi == order.more->has_phi) return false;
    const bool is_max = order.less->has_phi;
    const Ref old = is_max ? order.less : order.more, x = is_max ? order.more : order.less;
    const auto with = [&](Ref place) {
      return nodes_.replace(old, [&](Ref node) { return node == phi ? place : nullptr; });
    };
    const Ref again = with(change.place);
    const bool always = decided(guard).value_or(false);
    if (again != x || with(lane(one.before, i))->has_phi || !always) return false;
    const Extreme extreme{is_max ? Op::kMax : Op::kMin, x, with(lane(one.before, i)), order.ties};
    result.push_back(chosen_at(extreme, symbol, change.place, lane(one.before, i)));
  }
  shrink(result);
  one.result = result;
  return true;
}

}  // namespace hone::nest
