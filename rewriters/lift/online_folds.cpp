// The sum beside a running maximum: softmax in one pass.
#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"

namespace hone::nest {
namespace {

using Factors = std::vector<Ref>;

/// The factors of a product of floats, without ones.
void factors(Ref value, Factors& all) {
  if (value->is(Op::kMul)) {
    factors(value->args[0], all);
    factors(value->args[1], all);
  } else if (value->kind != Node::Kind::kFloat || value->value != 1) {
    all.push_back(value);
  }
}

/// A sum of products, as lists of factors.
void products(Nodes& nodes, Ref value, std::vector<Factors>& all) {
  if (value->is(Op::kAdd)) {
    products(nodes, value->args[0], all);
    products(nodes, value->args[1], all);
  } else if (value->is(Op::kFma)) {
    Factors product;
    factors(value->args[0], product);
    factors(value->args[1], product);
    all.push_back(std::move(product));
    products(nodes, value->args[2], all);
  } else {
    factors(value, all.emplace_back());
  }
}

/// s after a round, where the maximum is `before`, the new element x, and their maximum `now`:
/// s * f(before - now) + weight * f(x - now). A factor f(0) need not be there.
struct Online {
  std::string function;  ///< f; "": none was seen
  Factors weight;
  bool rescales = false, scales = false;  ///< f(before - now), f(x - now) was there
};

class Matcher {
 public:
  Matcher(Nodes& nodes, Ref phi, Ref before, Ref x)
      : nodes_(nodes), phi_(phi), before_(before), x_(x) {}

  std::optional<Online> match(Ref after, Ref now) {
    std::vector<Factors> sum;
    products(nodes_, after, sum);
    const auto is_old = [&](const Factors& product) {
      return std::ranges::find(product, phi_) != product.end();
    };
    const auto old = std::ranges::find_if(sum, is_old);
    if (sum.size() != 2 || old == sum.end()) return std::nullopt;
    Factors kept = *old, added = sum[old == sum.begin() ? 1 : 0];
    kept.erase(std::ranges::find(kept, phi_));
    Online online;
    online.rescales = take(kept, before_, now, online.function);
    online.scales = take(added, x_, now, online.function);
    if (!kept.empty() || std::ranges::any_of(added, &Node::has_phi)) return std::nullopt;
    if (!online.rescales && now != before_) return std::nullopt;
    if (!online.scales && now != x_) return std::nullopt;
    std::ranges::sort(added, {}, &Node::id);
    online.weight = std::move(added);
    return online;
  }

 private:
  /// f(from - now) out of the product, and what f is.
  static bool take(Factors& product, Ref from, Ref now, std::string& function) {
    const auto place = std::ranges::find_if(product, [&](Ref value) {
      if (!value->calls("exp", "__expf", "exp2")) return false;
      if (!function.empty() && function != value->name) return false;
      const Ref over = value->args[0];
      return over->is(Op::kSub) && over->args[0] == from && over->args[1] == now;
    });
    if (place == product.end()) return false;
    function = (*place)->name;
    product.erase(place);
    return true;
  }

  Nodes& nodes_;
  Ref phi_, before_, x_;
};

/// The value where the maximum grows, or where it does not.
Ref where(Nodes& nodes, Ref value, Ref before, Ref x, bool grows) {
  return nodes.replace(value, [&](Ref node) -> Ref {
    const auto same = [&](Ref a, Ref b) { return node->args[0] == a && node->args[1] == b; };
    if (node->is(Op::kMax) && (same(before, x) || same(x, before))) return grows ? x : before;
    if (node->is(Op::kLess, Op::kLessEqual) && same(before, x)) return nodes.boolean(grows);
    if (node->is(Op::kLess, Op::kLessEqual) && same(x, before)) return nodes.boolean(!grows);
    return nullptr;
  });
}

}  // namespace

/// s = s * exp(m - m') + w * exp(x - m') with m' = max(m, x): the sum of w * exp(x - max). Or in
/// two branches, of which each leaves away what is exp(0).
Ref Executor::online_sum(const Carried& one, const Carried& top, std::size_t i, SymbolId symbol,
                         Ref guard) {
  const Ref phi = lane(one.phi, i), before = lane(top.phi, i);
  Ref after = lane(one.after, i);
  // Rounds that do not count leave both as they are.
  if (after->is(Op::kSelect) && !after->args[0]->has_phi && after->args[2] == phi) {
    const Ref counts = after->args[0];
    const Ref otherwise = nodes_.replace(lane(top.after, i), [&](Ref node) -> Ref {
      return node == counts ? nodes_.boolean(false) : nullptr;
    });
    if (otherwise != before) return nullptr;
    guard = nodes_.both(guard, counts);
    after = after->args[1];
  }
  Facts facts;
  facts.add(guard);
  const Ref x = under(nodes_, top.folds[i]->more, facts);
  after = under(nodes_, after, facts);
  Matcher matcher(nodes_, phi, before, x);
  const auto grown = matcher.match(where(nodes_, after, before, x, true), x);
  const auto kept = matcher.match(where(nodes_, after, before, x, false), before);
  if (!grown || !kept || grown->weight != kept->weight) return nullptr;
  if (!grown->rescales || !kept->scales || grown->function != kept->function) return nullptr;
  const ScalarType type = after->type;
  const Ref start = lane(top.before, i);
  const Ref most =
      nodes_.op(Op::kMax, type,
                {start, nodes_.reduce(Op::kMax, {symbol},
                                      nodes_.select(guard, x, nodes_.identity(Op::kMax, type)))});
  Ref term = nodes_.call(kept->function, type, {nodes_.op(Op::kSub, type, {x, most})});
  for (const Ref weight : kept->weight) term = nodes_.op(Op::kMul, type, {term, weight});
  const Ref sum =
      nodes_.reduce(Op::kAdd, {symbol}, nodes_.select(guard, term, nodes_.number(0, type)));
  const Ref first = lane(one.before, i);
  if (first->kind == Node::Kind::kFloat && first->value == 0) return sum;
  const Ref scale = nodes_.call(kept->function, type, {nodes_.op(Op::kSub, type, {start, most})});
  return nodes_.op(Op::kAdd, type, {nodes_.op(Op::kMul, type, {first, scale}), sum});
}

bool Executor::fold_online(std::vector<Carried>& carried, Carried& one, SymbolId symbol,
                           const Lanes& guard) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    Ref found = nullptr;
    for (const Carried& top : carried) {
      if (&top == &one || top.folds.empty() || !top.folds[i] || top.folds[i]->op != Op::kMax)
        continue;
      if (top.folds[i]->more->has_phi) continue;
      found = online_sum(one, top, i, symbol, lane(guard, i));
      if (found != nullptr) break;
    }
    if (found == nullptr) return false;
    result.push_back(found);
  }
  shrink(result);
  one.result = result;
  return true;
}

}  // namespace hone::nest
