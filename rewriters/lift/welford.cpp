// A running mean and the squares about it, as sums: what Welford's way keeps from round to round is
// the mean of what has come so far, and the sum of squares of what differs from that.
#include <algorithm>
#include <set>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/nest/field.h"

namespace hone::nest {
namespace {

constexpr std::uint64_t kSeeds[] = {0x5DEECE66D, 0x2545F4914F6CDD1D};
constexpr std::size_t kMostParts = 64;

/// Float parts that have no phi, the largest first.
void parts_without_phi(Ref value, std::vector<Ref>& all, std::set<Ref>& seen) {
  if (all.size() >= kMostParts || !is_float(value->type) || !seen.insert(value).second) return;
  if (!value->has_phi && value->kind != Node::Kind::kFloat) {
    all.push_back(value);
  }
  if (value->kind != Node::Kind::kOp) return;
  for (const Ref arg : value->args) parts_without_phi(arg, all, seen);
}

/// mean' = mean + (x - mean) / (round + earlier + 1): `earlier` elements had come before the loop.
struct Mean {
  Ref x = nullptr;
  std::int64_t earlier = 0;
};

std::optional<std::int64_t> count_before(Ref x, Ref phi, Ref after, Ref round) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  std::optional<std::int64_t> earlier;
  for (const std::uint64_t seed : kSeeds) {
    Field field(seed);
    const std::uint64_t mean = field.of(phi);
    const std::uint64_t change = Field::subtract(field.of(after), mean);
    if (change == 0) return std::nullopt;
    const std::uint64_t count = Field::divide(Field::subtract(field.of(x), mean), change);
    const std::uint64_t more =
        Field::subtract(count, Field::add(field.of(round), Field::integer(1)));
    if (more >= kMost || (earlier && static_cast<std::uint64_t>(*earlier) != more)) {
      return std::nullopt;
    }
    earlier = static_cast<std::int64_t>(more);
  }
  return earlier;
}

std::optional<Mean> as_mean(Nodes& nodes, Ref phi, Ref after, Ref round) {
  if (!is_float(phi->type) || !after->has_phi || after->type != phi->type) return std::nullopt;
  std::vector<Ref> candidates;
  std::set<Ref> seen;
  parts_without_phi(after, candidates, seen);
  // Each is tried by arithmetic on the whole value, with divisions that take a microsecond.
  constexpr std::size_t kDivisions = 8;
  nodes.work(seen.size() / 8 + candidates.size() * (kDivisions + seen.size() / 16) / 4);
  for (const Ref x : candidates) {
    if (x->type != after->type) continue;
    if (const auto earlier = count_before(x, phi, after, round)) return Mean{x, *earlier};
  }
  return std::nullopt;
}

/// squares' = squares + (x - mean) * (x - mean').
bool adds_squares(Ref phi, Ref after, Ref mean, Ref mean_after, Ref x) {
  return std::ranges::all_of(kSeeds, [&](std::uint64_t seed) {
    Field field(seed);
    const std::uint64_t element = field.of(x);
    const std::uint64_t wanted = Field::multiply(Field::subtract(element, field.of(mean)),
                                                 Field::subtract(element, field.of(mean_after)));
    return Field::subtract(field.of(after), field.of(phi)) == wanted;
  });
}

}  // namespace

/// The mean after all rounds; null: it is no running mean, or there may be no element.
Ref Executor::mean_of(const Carried& one, std::size_t i, const Rounds& rounds) {
  const Ref round = nodes_.index(rounds.symbol), count = rounds.trips[i];
  const auto mean = as_mean(nodes_, lane(one.phi, i), lane(one.after, i), round);
  if (!mean || count == nullptr) return nullptr;
  const ScalarType type = mean->x->type;
  const Ref total = nodes_.add(count, nodes_.integer(mean->earlier));
  const auto range = nodes_.range(total);
  if (!range || range->low < 1) return nullptr;
  Ref sum = nodes_.reduce(Op::kAdd, {rounds.symbol},
                          nodes_.select(lane(rounds.guard, i), mean->x, nodes_.number(0, type)));
  sum = nodes_.op(Op::kAdd, type, {times(mean->earlier, lane(one.before, i)), sum});
  return nodes_.op(Op::kDiv, type, {sum, nodes_.cast(total, type)});
}

Ref Executor::times(std::int64_t count, Ref value) {
  if (count == 0) return nodes_.number(0, value->type);
  return nodes_.op(Op::kMul, value->type,
                   {nodes_.number(static_cast<double>(count), value->type), value});
}

bool Executor::fold_mean(Carried& one, const Rounds& rounds) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    result.push_back(mean_of(one, i, rounds));
    if (result.back() == nullptr) return false;
  }
  shrink(result);
  one.result = result;
  return true;
}

/// The squares about the mean of all; elements from before the loop stand at the mean they had.
Ref Executor::squares_of(const Carried& one, const Carried& top, std::size_t i,
                         const Rounds& rounds) {
  const Ref phi = lane(top.phi, i), after = lane(top.after, i);
  const auto mean = as_mean(nodes_, phi, after, nodes_.index(rounds.symbol));
  if (!mean || !adds_squares(lane(one.phi, i), lane(one.after, i), phi, after, mean->x)) {
    return nullptr;
  }
  const Ref centre = mean_of(top, i, rounds);
  if (centre == nullptr) return nullptr;
  const ScalarType type = centre->type;
  const auto square = [&](Ref x) {
    const Ref over = nodes_.op(Op::kSub, type, {x, centre});
    return nodes_.op(Op::kMul, type, {over, over});
  };
  const Ref squares =
      nodes_.reduce(Op::kAdd, {rounds.symbol},
                    nodes_.select(lane(rounds.guard, i), square(mean->x), nodes_.number(0, type)));
  const Ref earlier = mean->earlier == 0 ? nodes_.number(0, type)
                                         : times(mean->earlier, square(lane(top.before, i)));
  return nodes_.op(Op::kAdd, type,
                   {lane(one.before, i), nodes_.op(Op::kAdd, type, {earlier, squares})});
}

bool Executor::fold_squares(std::vector<Carried>& carried, Carried& one, const Rounds& rounds) {
  for (const Carried& top : carried) {
    if (&top == &one || !top.step.empty()) continue;
    Lanes result;
    for (std::size_t i = 0; i < lanes_; ++i) {
      const bool floats = is_float(lane(top.phi, i)->type) && is_float(lane(one.phi, i)->type);
      const Ref found = floats ? squares_of(one, top, i, rounds) : nullptr;
      if (found == nullptr) break;
      result.push_back(found);
    }
    if (result.size() != lanes_) continue;
    shrink(result);
    one.result = result;
    return true;
  }
  return false;
}

}  // namespace hone::nest
