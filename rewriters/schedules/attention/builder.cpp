#include "rewriters/schedules/attention/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/neighbours.h"
#include "rewriters/schedules/products.h"
#include "rewriters/schedules/tile_kernel.h"

namespace hone::schedules::attention {
namespace {

using nest::Node;

/// Less than any score; how far logits may grow before sums follow them; and a shift from which on
/// its rounding shows among weights [log 2].
constexpr double kLeastScore = -3.4e38, kSlack = 8, kFar = 1024;

}  // namespace

bool is_of_mean(const Attention& a) {
  bool found = false;
  for_each(a.value, [&](Ref node) { found |= node == a.weighted || node == a.sum; });
  return !found;
}

bool is_of_sums(const Attention& a) {
  bool found = true;
  for_each(a.value, [&](Ref node) {
    const bool is_sum = node == a.weighted || node == a.sum || node == a.mean;
    found &= is_sum || (node->kind != Node::Kind::kLoad && node->kind != Node::Kind::kIndex);
  });
  return found;
}

Builder::Builder(const Attention& a, const Schedule& s, const Goal& goal, const std::string& prefix,
                 int part_rows)
    : a_(a),
      s_(s),
      goal_(goal),
      nodes_(*a.nodes),
      part_rows_(part_rows),
      tiles_k_(ceil_divide(a.keys, s.keys)),
      padded_queries_(ceil_divide(a.queries, s.rows * s.cluster) * s.rows * s.cluster) {
  program_.kernel = prefix + "attention";
  program_.prefix = prefix;
  program_.nodes = &nodes_;
}

Ref Builder::define(const char* name, Ref value, std::int64_t extent, tile::Body& body) {
  if (value->is_constant()) return value;
  const SymbolId symbol = nodes_.new_symbol(name, extent);
  body.push_back({tile::Define{symbol, value}});
  return at(symbol);
}

void Builder::add_rows(int warp_rows) {
  for (const char* name : {"top", "shift", "shrink", "total"}) {
    program_.rows.push_back(
        {name, nodes_.load(fmt::format("%{}", name), ScalarType::kF32, number(0)), warp_rows});
  }
}

void Builder::add_parameters(std::vector<Ref> read) {
  read.insert(read.end(), {a_.value, a_.guard, a_.element, a_.logits, a_.allowed});
  std::vector<std::string> names;
  for (const Ref value : read) {
    for_each(value, [&](Ref node) {
      if (node->kind == Node::Kind::kLoad && !node->name.starts_with("%") &&
          node->name != a_.nest->buffer && std::ranges::find(names, node->name) == names.end())
        names.push_back(node->name);
    });
  }
  for (const std::string& name : names)
    program_.parameters.push_back({name, goal_.buffer(name)->type, false});
  program_.parameters.push_back({a_.nest->buffer, a_.nest->type, true});
}

/// rest + query * q + key * k at the corner where it is largest, or least, without the keys' part.
Ref Builder::corner(const Bound& bound, const Work& work, Ref first, Ref last, bool largest) {
  const Ref rest = nodes_.substitute(bound.rest, {{a_.batch, work.batch}});
  return nodes_.add(rest, nodes_.scale((bound.query > 0) == largest ? last : first, bound.query));
}

void Builder::range(Work& work, tile::Body& body) {
  work.first = number(0), work.last = number(tiles_k_ - 1);
  if (a_.bounds.empty()) return;
  const Ref q_last = nodes_.subtract(
      least(nodes_.add(work.q_first, number(s_.rows)), number(a_.queries)), number(1));
  Ref k_first = number(0), k_last = number(a_.keys - 1);
  for (const Bound& bound : a_.bounds) {
    const Ref most_of = corner(bound, work, work.q_first, q_last, true);
    const Ref none = nodes_.negate(nodes_.non_negative(most_of));
    if (bound.key > 0) {
      k_first = most(k_first, nodes_.divide(nodes_.subtract(number(bound.key - 1), most_of),
                                            number(bound.key)));
    } else {
      const Ref end = bound.key == 0 ? k_last : nodes_.divide(most_of, number(-bound.key));
      k_last = least(k_last, nodes_.select(none, number(-1), end));
    }
  }
  if (!(k_first->is_constant())) {
    work.first =
        define("tile_first", least(nodes_.divide(k_first, number(s_.keys)), number(tiles_k_ - 1)),
               tiles_k_, body);
  }
  work.last =
      define("tile_last", most(work.first, nodes_.divide(k_last, number(s_.keys))), tiles_k_, body);
}

void Builder::begin(tile::Body& body) {
  set(kShift, real(kLeastScore), body);
  set(kTotal, real(0), body);
}

/// Scores to logits, minus infinity where there is no weight.
void Builder::mask(const Work& work, Ref k_first, tile::Body& body) {
  const bool ends = a_.keys % s_.keys != 0;
  const bool makes_logits = !a_.scale.has_value();
  if (a_.allowed->is_constant() && !ends && !makes_logits) return;
  // Places that may be beyond the last query and key.
  const SymbolId q = nodes_.new_symbol("q_at", padded_queries_);
  const SymbolId k = nodes_.new_symbol("k_at", tiles_k_ * s_.keys);
  const nest::Nodes::Substitution places = {
      {a_.batch, work.batch}, {a_.q, least(at(q), number(a_.queries - 1))}, {a_.k, at(k)}};
  const Ref value = makes_logits ? nodes_.substitute(a_.logits, places) : a_.score;
  const Ref allowed = nodes_.both(ends ? nodes_.less(at(k), number(a_.keys)) : nodes_.boolean(true),
                                  nodes_.substitute(a_.allowed, places));
  tile::MapSums map{
      .sums = kScores,
      .sum = a_.score,
      .value = nodes_.select(allowed, value, real(-std::numeric_limits<double>::infinity())),
      .row = work.row,
      .column = k_first,
      .row_symbol = q,
      .column_symbol = k};
  if (a_.only_bounds && !makes_logits) {
    Ref whole = ends ? nodes_.non_negative(nodes_.subtract(number(a_.keys - s_.keys), k_first))
                     : nodes_.boolean(true);
    for (const Bound& bound : a_.bounds) {
      const Ref q_first = map.row, q_last = nodes_.add(map.row, number(part_rows_ - 1));
      const Ref k_last = nodes_.add(k_first, number(s_.keys - 1));
      const Ref worst = nodes_.add(corner(bound, work, q_first, q_last, false),
                                   nodes_.scale(bound.key < 0 ? k_last : k_first, bound.key));
      whole = nodes_.both(whole, nodes_.non_negative(worst));
    }
    map.unless = whole;
  }
  body.push_back({map});
}

/// A weight is 2^(scale * (score - shift)). The shift is the largest score so far, or up to kSlack
/// less, so that sums seldom have to follow it. Where it is near 0, a weight costs one
/// multiply-add, 2^(scale * score - scale * shift). Elsewhere that product is rounded by more than
/// a weight may be off: the shift is subtracted from the scores first. kTop then has what is left
/// to subtract, scale * shift or 0.
void Builder::shift(const Work& work, Ref k_first, tile::Body& body) {
  mask(work, k_first, body);
  const double factor = a_.scale.value_or(1);
  const Ref scale = real(factor);
  body.push_back({tile::ReduceRows{.rows = kTop, .sums = kScores, .op = Op::kMax}});
  const Ref higher =
      nodes_.op(Op::kLess, ScalarType::kBool,
                {real(is_exact() ? 0 : kSlack / factor), f32(Op::kSub, {row(kTop), row(kShift)})});
  set(kTop, nodes_.select(higher, row(kTop), row(kShift)), body);
  set(kShrink, called("exp2", f32(Op::kMul, {f32(Op::kSub, {row(kShift), row(kTop)}), scale})),
      body);
  set(kShift, row(kTop), body);
  set(kTotal, f32(Op::kMul, {row(kTotal), row(kShrink)}), body);
}

void Builder::weigh(tile::Body& body) {
  const double factor = a_.scale.value_or(1);
  const Ref scale = real(factor);
  const Ref less_shift = f32(Op::kSub, {a_.score, row(kShift)});
  Ref power = f32(Op::kMul, {less_shift, scale});
  if (!is_exact()) {
    const Ref near =
        nodes_.op(Op::kLess, ScalarType::kBool, {called("fabs", row(kShift)), real(kFar / factor)});
    body.push_back({tile::MapSums{.sums = kScores,
                                  .sum = a_.score,
                                  .value = nodes_.select(near, a_.score, less_shift),
                                  .unless = near}});
    set(kTop, nodes_.select(near, f32(Op::kMul, {row(kShift), scale}), real(0)), body);
    power = f32(Op::kFma, {a_.score, scale, f32(Op::kNeg, {row(kTop)})});
  }
  body.push_back({tile::MapSums{.sums = kScores, .sum = a_.score, .value = called("exp2", power)}});
  body.push_back({tile::ReduceRows{
      .rows = kTotal, .sums = kScores, .op = Op::kAdd, .onto = true, .in_lanes = true}});
}

tile::MapSums Builder::shrink_sums(bool awaits) {
  const Ref shrink = row(kShrink);
  return {.sums = kSums,
          .sum = a_.mean,
          .value = f32(Op::kMul, {a_.mean, shrink}),
          .unless = nodes_.op(Op::kEqual, ScalarType::kBool, {shrink, real(1)}),
          .awaits = awaits};
}

void Builder::end(tile::Body& body) {
  body.push_back({tile::FoldRows{kTotal, Op::kAdd}});
  set(kTop, f32(Op::kDiv, {real(1), row(kTotal)}), body);
}

/// The output as a function of the weighted mean and of the sums, at places that may be beyond the
/// last ones.
Ref Builder::of_sums(const Work& work, Ref mean, SymbolId q, SymbolId e) {
  Ref value = nodes_.replace(a_.value, [&](Ref node) -> Ref {
    return node == a_.mean ? mean : node == a_.sum ? row(kTotal) : nullptr;
  });
  if (value->type != ScalarType::kF32) value = f32(Op::kCast, {value});
  if (is_of_sums(a_)) return value;
  const nest::Nodes::Substitution places = {{a_.batch, work.batch},
                                            {a_.q, least(at(q), number(a_.queries - 1))},
                                            {a_.e, least(at(e), number(a_.columns - 1))}};
  return nodes_.select(nodes_.substitute(a_.guard, places), nodes_.substitute(value, places),
                       real(0));
}

void Builder::store(const Work& work, tile::Body& body) {
  const SymbolId q = nodes_.new_symbol("q_at", padded_queries_);
  const SymbolId e = nodes_.new_symbol("e_at", padded_columns(a_, s_.pipe));
  const Ref mean = f32(Op::kMul, {a_.weighted, row(kTop)});
  body.push_back({tile::MapSums{.sums = kSums,
                                .sum = a_.weighted,
                                .value = is_of_mean(a_) ? mean : of_sums(work, mean, q, e),
                                .row = work.row,
                                .column = number(0),
                                .row_symbol = q,
                                .column_symbol = e}});
  const nest::Nodes::Substitution batch = {{a_.batch, work.batch}};
  tile::Store store{.sums = kSums,
                    .row = work.row,
                    .column = number(0),
                    .row_symbol = a_.q,
                    .column_symbol = a_.e,
                    .rows = a_.queries,
                    .columns = a_.columns,
                    .buffer = a_.nest->buffer,
                    .type = a_.nest->type,
                    .sum = a_.mean,
                    .contiguous = a_.run_of_outputs};
  store.value = is_of_mean(a_)                    ? nodes_.substitute(a_.value, batch)
                : a_.mean->type != a_.value->type ? nodes_.op(Op::kCast, a_.value->type, {a_.mean})
                                                  : a_.mean;
  store.element = nodes_.substitute(a_.element, batch);
  store.guard = nodes_.substitute(a_.guard, batch);
  store.beside = inputs_beside(nodes_, store);
  body.push_back({std::move(store)});
}

}  // namespace hone::schedules::attention
