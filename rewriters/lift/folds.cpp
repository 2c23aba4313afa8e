// What rounds come to together: reductions, the place of a maximum, the sum beside a running
// maximum.
#include "rewriters/lift/folds.h"

#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"

namespace hone::nest {
bool depends(Ref value, Ref phi) {
  if (!value->has_phi) return false;
  if (value == phi) return true;
  for (const Ref arg : value->args)
    if (depends(arg, phi)) return true;
  for (const Term& term : value->terms)
    if (depends(term.atom, phi)) return true;
  return false;
}

std::optional<Folded> as_fold(Nodes& nodes, Ref phi, Ref after) {
  const Ref before = peel(phi);
  if (!depends(after, before)) return std::nullopt;
  const auto join = [&](Op op, Ref a, Ref b) { return nodes.op(op, after->type, {a, b}); };
  if (after->kind == Node::Kind::kSum) {
    if (peel(after) == before) return std::nullopt;
    const Ref inner = peel(after);
    if (inner == after || inner->kind == Node::Kind::kSum) {
      // before + more, as an integer sum.
      Ref more = after;
      bool found = false;
      for (const Term& term : after->terms) {
        if (term.atom == before && term.coefficient == 1) {
          more = nodes.subtract(after, term.atom);
          found = true;
        }
      }
      if (found) {
        if (depends(more, before)) return std::nullopt;
        return Folded{Op::kAdd, more};
      }
      // (select(c, before + x, before)) + y and the like.
      for (const Term& term : after->terms) {
        if (term.coefficient != 1 || !depends(term.atom, before)) continue;
        const Ref others = nodes.subtract(after, term.atom);
        if (depends(others, before)) return std::nullopt;
        const auto part = as_fold(nodes, phi, term.atom);
        if (!part || part->op != Op::kAdd) return std::nullopt;
        return Folded{Op::kAdd, nodes.add(part->more, others)};
      }
      return std::nullopt;
    }
    return as_fold(nodes, phi, inner);
  }
  if (after->kind != Node::Kind::kOp) return std::nullopt;
  if (after->is(Op::kSelect)) {
    // c && before < x ? x : before.
    if (depends(after->args[0], before) && peel(after->args[2]) == before) {
      Ref rest = nodes.boolean(true);
      std::optional<Op> op;
      for (const Ref condition : conjuncts(after->args[0])) {
        const Ref part = order_alone(condition);
        const bool orders = part->is(Op::kLess, Op::kLessEqual);
        if (!depends(condition, before)) {
          rest = nodes.both(rest, condition);
        } else if (!op && orders && part->args[0] == before && part->args[1] == after->args[1]) {
          op = Op::kMax;
        } else if (!op && orders && part->args[1] == before && part->args[0] == after->args[1]) {
          op = Op::kMin;
        } else {
          return std::nullopt;
        }
      }
      if (!op || depends(after->args[1], before)) return std::nullopt;
      return Folded{*op, nodes.select(rest, after->args[1], nodes.identity(*op, after->type))};
    }
    if (depends(after->args[0], before)) return std::nullopt;
    std::optional<Folded> sides[2];
    std::optional<Op> op;
    for (int i = 0; i < 2; ++i) {
      const Ref side = after->args[1 + i];
      if (peel(side) == before) continue;
      sides[i] = as_fold(nodes, phi, side);
      if (!sides[i] || (op && op != sides[i]->op)) return std::nullopt;
      op = sides[i]->op;
    }
    if (!op) return std::nullopt;
    const Ref nothing = nodes.identity(*op, after->type);
    return Folded{*op, nodes.select(after->args[0], sides[0] ? sides[0]->more : nothing,
                                    sides[1] ? sides[1]->more : nothing)};
  }
  if (after->is(Op::kFma)) {
    const Ref product = nodes.op(Op::kMul, after->type, {after->args[0], after->args[1]});
    if (depends(product, before)) return std::nullopt;
    if (after->args[2] == before) return Folded{Op::kAdd, product};
    const auto inner = as_fold(nodes, phi, after->args[2]);
    if (!inner || inner->op != Op::kAdd) return std::nullopt;
    return Folded{Op::kAdd, join(Op::kAdd, inner->more, product)};
  }
  if (after->is(Op::kSub) && depends(after->args[0], before)) {
    const Ref minus = nodes.op(Op::kNeg, after->type, {after->args[1]});
    if (depends(minus, before)) return std::nullopt;
    if (after->args[0] == before) return Folded{Op::kAdd, minus};
    const auto inner = as_fold(nodes, phi, after->args[0]);
    if (!inner || inner->op != Op::kAdd) return std::nullopt;
    return Folded{Op::kAdd, join(Op::kAdd, inner->more, minus)};
  }
  if (!info(after->op).is(OpInfo::kFolds) || after->args.size() != 2) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const Ref side = after->args[i], other = after->args[1 - i];
    if (!depends(side, before) || depends(other, before)) continue;
    if (peel(side) == before) return Folded{after->op, other};
    const auto inner = as_fold(nodes, phi, side);
    if (!inner || inner->op != after->op) return std::nullopt;
    return Folded{after->op, join(after->op, inner->more, other)};
  }
  return std::nullopt;
}

Ref Executor::folded(const Carried& one, std::size_t i, SymbolId symbol, const Lanes& guard) {
  const Ref before = lane(one.before, i);
  if (lane(one.after, i) == lane(one.phi, i)) return before;
  const Folded& fold = *one.folds[i];
  const Ref nothing = nodes_.identity(fold.op, before->type);
  const Ref whole =
      nodes_.reduce(fold.op, {symbol}, nodes_.select(lane(guard, i), fold.more, nothing));
  return nodes_.op(fold.op, before->type, {before, whole});
}

Lanes Executor::folded(const Carried& one, SymbolId symbol, const Lanes& guard) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) result.push_back(folded(one, i, symbol, guard));
  shrink(result);
  return result;
}

}  // namespace hone::nest
