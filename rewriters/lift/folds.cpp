// What rounds come to together: reductions, the place of a maximum, the sum beside a running
// maximum.
#include "rewriters/lift/folds.h"

#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"

namespace hone::lift {
namespace {

bool folds(std::string_view op) {
  return op == "+" || op == "*" || op == "min" || op == "max" || op == "&" || op == "|" ||
         op == "^";
}

}  // namespace

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
  const auto join = [&](const std::string& op, Ref a, Ref b) {
    return nodes.op(op, after->type, {a, b});
  };
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
        return Folded{"+", more};
      }
      // (select(c, before + x, before)) + y and the like.
      for (const Term& term : after->terms) {
        if (term.coefficient != 1 || !depends(term.atom, before)) continue;
        const Ref others = nodes.subtract(after, term.atom);
        if (depends(others, before)) return std::nullopt;
        const auto part = as_fold(nodes, phi, term.atom);
        if (!part || part->op != "+") return std::nullopt;
        return Folded{"+", nodes.add(part->more, others)};
      }
      return std::nullopt;
    }
    return as_fold(nodes, phi, inner);
  }
  if (after->kind != Node::Kind::kOp) return std::nullopt;
  if (after->is("select")) {
    // c && before < x ? x : before.
    if (depends(after->args[0], before) && peel(after->args[2]) == before) {
      Ref rest = nodes.boolean(true);
      std::string op;
      for (const Ref part : conjuncts(after->args[0])) {
        const bool orders = part->is("<") || part->is("<=");
        if (!depends(part, before)) {
          rest = nodes.both(rest, part);
        } else if (op.empty() && orders && part->args[0] == before &&
                   part->args[1] == after->args[1]) {
          op = "max";
        } else if (op.empty() && orders && part->args[1] == before &&
                   part->args[0] == after->args[1]) {
          op = "min";
        } else {
          return std::nullopt;
        }
      }
      if (op.empty() || depends(after->args[1], before)) return std::nullopt;
      return Folded{op, nodes.select(rest, after->args[1], nodes.identity(op, after->type))};
    }
    if (depends(after->args[0], before)) return std::nullopt;
    std::optional<Folded> sides[2];
    std::string op;
    for (int i = 0; i < 2; ++i) {
      const Ref side = after->args[1 + i];
      if (peel(side) == before) continue;
      sides[i] = as_fold(nodes, phi, side);
      if (!sides[i] || (!op.empty() && op != sides[i]->op)) return std::nullopt;
      op = sides[i]->op;
    }
    if (op.empty()) return std::nullopt;
    const Ref nothing = nodes.identity(op, after->type);
    return Folded{op, nodes.select(after->args[0], sides[0] ? sides[0]->more : nothing,
                                   sides[1] ? sides[1]->more : nothing)};
  }
  if (after->is("fma")) {
    const Ref product = nodes.op("*", after->type, {after->args[0], after->args[1]});
    if (depends(product, before)) return std::nullopt;
    if (after->args[2] == before) return Folded{"+", product};
    const auto inner = as_fold(nodes, phi, after->args[2]);
    if (!inner || inner->op != "+") return std::nullopt;
    return Folded{"+", join("+", inner->more, product)};
  }
  if (after->is("-") && depends(after->args[0], before)) {
    const Ref minus = nodes.op("neg", after->type, {after->args[1]});
    if (depends(minus, before)) return std::nullopt;
    if (after->args[0] == before) return Folded{"+", minus};
    const auto inner = as_fold(nodes, phi, after->args[0]);
    if (!inner || inner->op != "+") return std::nullopt;
    return Folded{"+", join("+", inner->more, minus)};
  }
  if (!folds(after->op) || after->args.size() != 2) return std::nullopt;
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

Lanes Executor::folded(const Carried& one, SymbolId symbol, const Lanes& guard) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref before = lane(one.before, i);
    if (lane(one.after, i) == lane(one.phi, i)) {
      result.push_back(before);
      continue;
    }
    const Folded& fold = *one.folds[i];
    const Ref nothing = nodes_.identity(fold.op, before->type);
    const Ref whole =
        nodes_.reduce(fold.op, {symbol}, nodes_.select(lane(guard, i), fold.more, nothing));
    result.push_back(nodes_.op(fold.op, before->type, {before, whole}));
  }
  shrink(result);
  return result;
}

/// best and where: `where` changes when `best` does.
bool Executor::fold_arg(std::vector<Carried>& carried, Carried& one, SymbolId symbol,
                        const Lanes& guard) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref after = peel(lane(one.after, i)), phi = lane(one.phi, i);
    if (!after->is("select") || peel(after->args[2]) != peel(phi) || after->args[1]->has_phi) {
      return false;
    }
    Ref found = nullptr;
    for (const Carried& best : carried) {
      if (&best == &one || best.folds.empty() || !best.folds[i]) continue;
      const Folded& fold = *best.folds[i];
      if (fold.op != "max" && fold.op != "min") continue;
      const Ref before = peel(lane(best.phi, i));
      Ref rest = nodes_.boolean(true), compared = nullptr;
      for (const Ref part : conjuncts(after->args[0])) {
        if (!part->has_phi) {
          rest = nodes_.both(rest, part);
        } else if (part->is("<") && part->args[fold.op == "max" ? 0 : 1] == before) {
          compared = part->args[fold.op == "max" ? 1 : 0];
        } else {
          compared = nullptr;
          break;
        }
      }
      const Ref nothing = nodes_.identity(fold.op, fold.more->type);
      if (compared == nullptr || nodes_.select(rest, compared, nothing) != fold.more) continue;
      const Ref values = nodes_.select(lane(guard, i), fold.more, nothing);
      const Ref extreme = nodes_.reduce(fold.op, {symbol}, values);
      const Ref place = nodes_.reduce("arg" + fold.op, {symbol}, values);
      const Ref value = nodes_.substitute(after->args[1], {{symbol, place}});
      const Ref start = lane(best.before, i);
      const Ref better = fold.op == "max" ? nodes_.op("<", ScalarType::kBool, {start, extreme})
                                          : nodes_.op("<", ScalarType::kBool, {extreme, start});
      found = nodes_.select(better, value, lane(one.before, i));
      break;
    }
    if (found == nullptr) return false;
    result.push_back(found);
  }
  shrink(result);
  one.result = result;
  return true;
}

namespace {

/// The factors of a product of floats.
void factors(Ref value, std::vector<Ref>& all) {
  if (value->is("*")) {
    factors(value->args[0], all);
    factors(value->args[1], all);
  } else {
    all.push_back(value);
  }
}

}  // namespace

/// s = s * exp(m - m') + w * exp(x - m') with m' = max(m, x): the sum of w * exp(x - max).
bool Executor::fold_online(std::vector<Carried>& carried, Carried& one, SymbolId symbol,
                           const Lanes& guard) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref after = lane(one.after, i), phi = lane(one.phi, i);
    Ref left = nullptr, right = nullptr;
    if (after->is("+")) {
      left = after->args[0];
      right = after->args[1];
    } else if (after->is("fma")) {
      left = nodes_.op("*", after->type, {after->args[0], after->args[1]});
      right = after->args[2];
    } else {
      return false;
    }
    if (!depends(left, phi)) std::swap(left, right);
    Ref found = nullptr;
    for (const Carried& top : carried) {
      if (&top == &one || top.folds.empty() || !top.folds[i] || top.folds[i]->op != "max") continue;
      const Ref before = lane(top.phi, i), now = lane(top.after, i), x = top.folds[i]->more;
      std::vector<Ref> scaled, added;
      factors(left, scaled);
      factors(right, added);
      std::string function;
      const auto is_exp_of = [&](Ref value, Ref from) {
        if (value->kind != Node::Kind::kOp || value->args.size() != 1) return false;
        if (value->op != "exp" && value->op != "__expf" && value->op != "exp2") return false;
        const Ref over = value->args[0];
        if (!over->is("-") || over->args[0] != from || over->args[1] != now) return false;
        function = value->op;
        return true;
      };
      const auto take = [&](std::vector<Ref>& all, auto&& wanted) {
        const auto place = std::ranges::find_if(all, wanted);
        if (place == all.end()) return false;
        all.erase(place);
        return true;
      };
      if (!take(scaled, [&](Ref f) { return f == phi; })) continue;
      if (!take(scaled, [&](Ref f) { return is_exp_of(f, before); }) || !scaled.empty()) continue;
      if (!take(added, [&](Ref f) { return is_exp_of(f, x); })) continue;
      if (std::ranges::any_of(added, &Node::has_phi)) continue;
      const ScalarType type = after->type;
      const Ref start = lane(top.before, i);
      const Ref most = nodes_.op(
          "max", type,
          {start, nodes_.reduce("max", {symbol},
                                nodes_.select(lane(guard, i), x, nodes_.identity("max", type)))});
      Ref term = nodes_.op(function, type, {nodes_.op("-", type, {x, most})});
      for (const Ref weight : added) term = nodes_.op("*", type, {term, weight});
      found =
          nodes_.reduce("+", {symbol}, nodes_.select(lane(guard, i), term, nodes_.number(0, type)));
      const Ref first = lane(one.before, i);
      if (first->kind != Node::Kind::kFloat || first->value != 0) {
        const Ref rescaled = nodes_.op(
            "*", type, {first, nodes_.op(function, type, {nodes_.op("-", type, {start, most})})});
        found = nodes_.op("+", type, {rescaled, found});
      }
      break;
    }
    if (found == nullptr) return false;
    result.push_back(found);
  }
  shrink(result);
  one.result = result;
  return true;
}

}  // namespace hone::lift
