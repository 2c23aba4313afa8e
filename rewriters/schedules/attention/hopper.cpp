#include "rewriters/schedules/attention/hopper.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"
#include "rewriters/schedules/products.h"
#include "rewriters/schedules/tile_kernel.h"
#include "rewriters/tile/operands.h"

namespace hone::schedules::attention {
namespace {

using nest::Node;
using nest::Nodes;
using nest::Term;

/// Less than any score; how far logits may grow before sums follow them; and a shift from which on
/// its rounding shows among weights [log 2].
constexpr double kLeastScore = -3.4e38, kSlack = 8, kFar = 1024;

/// A tensor of rows and columns for each batch.
struct Source {
  tile::View view;
  /// Of the operand's first row and column in the view; outer ones are of the batch.
  std::vector<Ref> first;
};

/// The operand for bulk copies of `rows` x 64; empty: it cannot be.
std::optional<Source> source_of(const Attention& a, const Operand& operand, const char* name,
                                int rows) {
  const Ref value = operand.value;
  if (value->kind != Node::Kind::kLoad || value->type != operand.type) return std::nullopt;
  const Ref element = value->args[0];
  if (element->kind != Node::Kind::kSum || element->constant < 0 || element->constant % 8 != 0)
    return std::nullopt;
  Source source{
      .view = {.name = name, .buffer = value->name, .type = operand.type, .swizzle = 128}};
  tile::View& view = source.view;
  if (std::ranges::any_of(element->terms, [](const Term& term) { return term.coefficient < 1; }))
    return std::nullopt;
  const auto [strides, others] = nest::strides_in(element, {operand.row, operand.column});
  for (const Term& term : others) {
    const auto range = a.nodes->range(term.atom);
    const bool of_batch =
        std::ranges::all_of(term.atom->free, [&](SymbolId symbol) { return symbol == a.batch; });
    if (!of_batch || term.atom->has_load || !range || range->low < 0) return std::nullopt;
    view.shape.push_back(range->high + 1);
    view.strides.push_back(term.coefficient);
    view.box.push_back(1);
    source.first.push_back(term.atom);
  }
  const std::int64_t row_count = a.nodes->extent(operand.row);
  const std::int64_t columns = a.nodes->extent(operand.column);
  const std::int64_t of_row =
      strides[0] == 0 && row_count == 1 ? ceil_divide(columns, 8) * 8 : strides[0];
  if (strides[1] != 1 || view.shape.size() > 3) return std::nullopt;
  view.shape.insert(view.shape.end(), {row_count, columns});
  view.strides.push_back(of_row);
  view.box.insert(view.box.end(), {rows, 64});
  source.first.resize(view.shape.size(), a.nodes->integer(0));
  if (!mistake_in(tile::tensor_map(view), view.type).empty()) return std::nullopt;
  // Where the operand begins in its buffer, as a place in the view: by the longest strides first.
  std::vector<std::int64_t> strides_of_view = view.strides;
  strides_of_view.push_back(1);
  std::vector<std::size_t> order(strides_of_view.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, std::greater{}, [&](std::size_t i) { return strides_of_view[i]; });
  std::int64_t left = element->constant;
  for (const std::size_t i : order) {
    const std::int64_t places = left / strides_of_view[i];
    left -= places * strides_of_view[i];
    view.shape[i] += places;
    source.first[i] = a.nodes->add(source.first[i], a.nodes->integer(places));
  }
  return source;
}

/// Whether the output is a function of the weighted mean and not of the two sums themselves.
bool is_of_mean(const Attention& a) {
  bool found = false;
  for_each(a.value, [&](Ref node) { found |= node == a.weighted || node == a.sum; });
  return !found;
}

/// Whether it is a function of the sums that reads no index and no buffer.
bool is_of_sums(const Attention& a) {
  bool found = true;
  for_each(a.value, [&](Ref node) {
    const bool is_sum = node == a.weighted || node == a.sum || node == a.mean;
    found &= is_sum || (node->kind != Node::Kind::kLoad && node->kind != Node::Kind::kIndex);
  });
  return found;
}

/// Which tile of the output, and which tiles of keys it needs: from `last` down to `first`.
struct Work {
  Ref batch = nullptr, q_first = nullptr, first = nullptr, last = nullptr;
};

class BulkBuilder {
 public:
  BulkBuilder(const Attention& a, const Schedule& s, const Goal& goal, const std::string& prefix)
      : a_(a), s_(s), goal_(goal), nodes_(*a.nodes) {
    // A cluster's blocks have neighbouring queries: one tile here.
    tiles_q_ = ceil_divide(a.queries, s.rows * s.cluster);
    tiles_k_ = ceil_divide(a.keys, s.keys);
    tiles_ = tiles_q_ * a.batches;
    program_.kernel = prefix + "attention";
    program_.prefix = prefix;
    program_.nodes = &nodes_;
    const std::int64_t multiprocessors =
        goal.context == nullptr ? 132 : std::max(1, goal.context->target.sm_count);
    clusters_ =
        s.persistent ? std::clamp<std::int64_t>(multiprocessors / s.cluster, 1, tiles_) : tiles_;
    program_.cluster = s.cluster;
    program_.grid = clusters_ * s.cluster;
    program_.comment = fmt::format(
        "{}: {} queries at a time, {} keys in a tile, {} tiles of keys and of values in shared "
        "memory at once. A thread copies tiles there, {}.",
        a.describe(), s.rows, s.keys, s.stages,
        s.rows == 64 ? "128 threads multiply them"
                     : fmt::format("{} groups of 128 threads multiply them", s.rows / 64));
  }

  tile::Program build() {
    program_.block = nodes_.new_symbol("block", program_.grid);
    program_.group = nodes_.new_symbol("group", s_.rows / 64);
    sources_ = {*source_of(a_, a_.query, "map_query", s_.rows),
                *source_of(a_, a_.key, "map_key", s_.keys / s_.cluster),
                *source_of(a_, a_.values, "map_values", s_.keys / s_.cluster)};
    for (const Source& source : sources_) program_.views.push_back(source.view);
    const int depth = padded_depth(a_, s_.pipe), columns = padded_columns(a_, s_.pipe);
    const ScalarType type = a_.query.type;
    program_.rings = {
        {"query", 1, {{"tile_query", type, tile::wgmma_operand(s_.rows, depth, true)}}},
        {"keys", s_.stages, {{"tile_keys", type, tile::wgmma_operand(s_.keys, depth, true)}}},
        {"values",
         s_.stages,
         {{"tile_values", type, tile::wgmma_operand(columns, s_.keys, false)}}}};
    program_.sums = {{"scores", s_.keys}, {"sums", columns}};
    program_.fragments = {{"weights", s_.keys, type}};
    for (const char* name : {"top", "shift", "shrink", "total"})
      program_.rows.push_back(
          {name, nodes_.load(fmt::format("%{}", name), ScalarType::kF32, number(0))});
    parameters();
    const auto [load_registers, math_registers] = role_registers(s_.rows);
    program_.roles = {
        {.name = "load", .registers = load_registers, .one_thread = true, .body = load()},
        {.name = "math", .warp_groups = s_.rows / 64, .registers = math_registers, .body = math()}};
    return std::move(program_);
  }

 private:
  static constexpr int kQuery = 0, kKeys = 1, kValues = 2;  // rings, views and sources
  static constexpr int kScores = 0, kSums = 1;
  static constexpr int kTop = 0, kShift = 1, kShrink = 2, kTotal = 3;

  Ref number(std::int64_t value) { return nodes_.integer(value); }
  Ref real(double value) { return nodes_.number(value, ScalarType::kF32); }
  Ref at(SymbolId symbol) { return nodes_.index(symbol); }
  /// Of the block in its cluster.
  Ref rank() { return nodes_.remainder(at(program_.block), number(s_.cluster)); }
  Ref row(int which) { return program_.rows[static_cast<std::size_t>(which)].value; }
  Ref f32(Op op, std::vector<Ref> args) { return nodes_.op(op, ScalarType::kF32, std::move(args)); }
  Ref called(const char* function, Ref x) { return nodes_.call(function, ScalarType::kF32, {x}); }
  Ref least(Ref x, Ref y) { return nodes_.op(Op::kMin, ScalarType::kI64, {x, y}); }
  Ref most(Ref x, Ref y) { return nodes_.op(Op::kMax, ScalarType::kI64, {x, y}); }

  Ref define(const char* name, Ref value, std::int64_t extent, tile::Body& body) {
    if (value->is_constant()) return value;
    const SymbolId symbol = nodes_.new_symbol(name, extent);
    body.push_back({tile::Define{symbol, value}});
    return at(symbol);
  }

  /// Buffers that are read besides the three operands, and the output.
  void parameters() {
    std::vector<std::string> names;
    for (const Ref value : {a_.value, a_.guard, a_.element, a_.logits, a_.allowed}) {
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

  // --- Which work a block does ------------------------------------------------------------------

  /// Blocks that run together share keys. Where later queries have more keys, they go first, of
  /// several heads together, and blocks with much to do in one round have little in the next.
  Work work(SymbolId tile, tile::Body& body) {
    Ref turn = at(tile);
    Ref batch = nodes_.divide(turn, number(tiles_q_));
    Ref q = nodes_.remainder(turn, number(tiles_q_));
    if (last_are_longest(a_)) {
      if (clusters_ < tiles_) {
        const Ref round = define("round", nodes_.divide(turn, number(clusters_)),
                                 ceil_divide(tiles_, clusters_), body);
        const Ref first = nodes_.scale(round, clusters_);
        const Ref end = least(nodes_.add(first, number(clusters_)), number(tiles_));
        const Ref back = nodes_.subtract(nodes_.add(first, nodes_.subtract(end, number(1))), turn);
        turn = define("turn",
                      nodes_.select(nodes_.is_zero(nodes_.remainder(round, number(2))), turn, back),
                      tiles_, body);
      }
      const std::int64_t near = std::min<std::int64_t>(s_.together, a_.batches);
      const Ref section = nodes_.scale(nodes_.divide(turn, number(near * tiles_q_)), near);
      const Ref inside = nodes_.remainder(turn, number(near * tiles_q_));
      Ref heads = number(near);
      if (a_.batches % near != 0)
        heads = define("heads", least(number(near), nodes_.subtract(number(a_.batches), section)),
                       near + 1, body);
      batch = nodes_.add(section, nodes_.remainder(inside, heads));
      q = nodes_.subtract(number(tiles_q_ - 1), nodes_.divide(inside, heads));
    }
    Work work;
    work.batch = define("batch_at", batch, a_.batches, body);
    if (s_.cluster > 1) q = nodes_.add(nodes_.scale(q, s_.cluster), rank());
    work.q_first =
        define("q_first", nodes_.scale(q, s_.rows), tiles_q_ * s_.cluster * s_.rows, body);
    range(work, body);
    return work;
  }

  /// rest + query * q + key * k at the corner where it is largest, or least, without the keys'
  /// part.
  Ref corner(const Bound& bound, const Work& work, Ref first, Ref last, bool largest) {
    const Ref rest = nodes_.substitute(bound.rest, {{a_.batch, work.batch}});
    return nodes_.add(rest, nodes_.scale((bound.query > 0) == largest ? last : first, bound.query));
  }

  /// Tiles of keys that any of the queries may be allowed; at least one, so that there are sums.
  void range(Work& work, tile::Body& body) {
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
    if (!(k_first->is_constant()))
      work.first =
          define("tile_first", least(nodes_.divide(k_first, number(s_.keys)), number(tiles_k_ - 1)),
                 tiles_k_, body);
    work.last = define("tile_last", most(work.first, nodes_.divide(k_last, number(s_.keys))),
                       tiles_k_, body);
  }

  tile::Body over_tiles(SymbolId tile, tile::Body body) {
    tile::Body whole;
    whole.push_back({tile::Loop{tile, nodes_.divide(at(program_.block), number(s_.cluster)),
                                number(tiles_), number(clusters_), std::move(body), ""}});
    return whole;
  }
  /// Rounds 1, 2, … for all tiles of keys but the last one, which comes before.
  tile::Operation over_keys(SymbolId round, const Work& work, tile::Body body) {
    return {tile::Loop{round, number(1),
                       nodes_.add(nodes_.subtract(work.last, work.first), number(1)), number(1),
                       std::move(body), ""}};
  }
  /// The first key of the tile of that round.
  Ref key_of(const Work& work, Ref round) {
    return nodes_.scale(nodes_.subtract(work.last, round), s_.keys);
  }

  // --- The thread that copies -------------------------------------------------------------------

  /// Each block of a cluster copies its share of keys and values, for all.
  void copy(int which, const Work& work, Ref row, tile::Body& body) {
    const bool shared = which != kQuery && s_.cluster > 1;
    if (shared) row = nodes_.add(row, nodes_.scale(rank(), s_.keys / s_.cluster));
    const Source& source = sources_[static_cast<std::size_t>(which)];
    const int columns = which == kValues ? padded_columns(a_, s_.pipe) : padded_depth(a_, s_.pipe);
    body.push_back({tile::Acquire{which}});
    for (int column = 0; column < columns; column += 64) {
      tile::BulkCopy copy{.ring = which, .tile = 0, .view = which};
      for (const Ref first : source.first)
        copy.from.push_back(nodes_.substitute(first, {{a_.batch, work.batch}}));
      Ref& in_column = copy.from.back();
      Ref& in_row = copy.from[copy.from.size() - 2];
      in_row = nodes_.add(in_row, row);
      in_column = nodes_.add(in_column, number(column));
      copy.to = {0, column};
      if (shared) copy.step_by_rank = {s_.keys / s_.cluster, 0};
      if (which == kValues) {
        std::ranges::reverse(copy.to);
        std::ranges::reverse(copy.step_by_rank);
      }
      body.push_back({std::move(copy)});
    }
    body.push_back({tile::Commit{which}});
  }

  tile::Body load() {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_);
    const SymbolId round = nodes_.new_symbol("k_round", tiles_k_ + 1);
    tile::Body body, inner;
    const Work here = work(tile, body);
    copy(kQuery, here, here.q_first, body);
    copy(kKeys, here, key_of(here, number(0)), body);
    copy(kKeys, here, key_of(here, at(round)), inner);
    copy(kValues, here, key_of(here, nodes_.subtract(at(round), number(1))), inner);
    body.push_back(over_keys(round, here, std::move(inner)));
    copy(kValues, here, nodes_.scale(here.first, s_.keys), body);
    return over_tiles(tile, std::move(body));
  }

  // --- Those that multiply ----------------------------------------------------------------------

  Ref of_group() { return s_.rows == 64 ? number(0) : nodes_.scale(at(program_.group), 64); }
  void multiply_scores(tile::Body& body) {
    body.push_back({tile::Multiply{.sums = kScores,
                                   .ring = kKeys,
                                   .a_row = of_group(),
                                   .fresh = nodes_.boolean(true),
                                   .a_ring = kQuery}});
  }
  void multiply_values(tile::Body& body) {
    body.push_back({tile::Multiply{.sums = kSums, .ring = kValues, .fragments = 0}});
  }
  void set(int rows, Ref value, tile::Body& body) { body.push_back({tile::MapRows{rows, value}}); }

  /// Scores to logits, minus infinity where there is no weight.
  void mask(const Work& work, Ref k_first, tile::Body& body) {
    const bool ends = a_.keys % s_.keys != 0;
    const bool makes_logits = !a_.scale.has_value();
    if (a_.allowed->is_constant() && !ends && !makes_logits) return;
    // Places that may be beyond the last query and key.
    const SymbolId q = nodes_.new_symbol("q_at", tiles_q_ * s_.cluster * s_.rows);
    const SymbolId k = nodes_.new_symbol("k_at", tiles_k_ * s_.keys);
    const nest::Nodes::Substitution places = {
        {a_.batch, work.batch}, {a_.q, least(at(q), number(a_.queries - 1))}, {a_.k, at(k)}};
    const Ref value = makes_logits ? nodes_.substitute(a_.logits, places) : a_.score;
    const Ref allowed =
        nodes_.both(ends ? nodes_.less(at(k), number(a_.keys)) : nodes_.boolean(true),
                    nodes_.substitute(a_.allowed, places));
    tile::MapSums map{
        .sums = kScores,
        .sum = a_.score,
        .value = nodes_.select(allowed, value, real(-std::numeric_limits<double>::infinity())),
        .row = nodes_.add(work.q_first, of_group()),
        .column = k_first,
        .row_symbol = q,
        .column_symbol = k};
    if (a_.only_bounds && !makes_logits) {
      Ref whole = ends ? nodes_.non_negative(nodes_.subtract(number(a_.keys - s_.keys), k_first))
                       : nodes_.boolean(true);
      for (const Bound& bound : a_.bounds) {
        const Ref q_first = map.row, q_last = nodes_.add(map.row, number(63));
        const Ref k_last = nodes_.add(k_first, number(s_.keys - 1));
        const Ref worst = nodes_.add(corner(bound, work, q_first, q_last, false),
                                     nodes_.scale(bound.key < 0 ? k_last : k_first, bound.key));
        whole = nodes_.both(whole, nodes_.non_negative(worst));
      }
      map.unless = whole;
    }
    body.push_back({std::move(map)});
  }

  /// Scores to weights: 2^(scale * (score - shift)). The shift is the largest score so far, or up
  /// to kSlack less, so that sums seldom have to follow it. Where it is near 0, a weight costs one
  /// multiply-add, 2^(scale * score - scale * shift). Elsewhere that product is rounded by more
  /// than a weight may be off: the shift is subtracted from the scores first. kTop then has what is
  /// left to subtract, scale * shift or 0.
  void weigh(const Work& work, Ref k_first, tile::Body& body) {
    mask(work, k_first, body);
    const double factor = a_.scale.value_or(1);
    const Ref scale = real(factor);
    body.push_back({tile::ReduceRows{.rows = kTop, .sums = kScores, .op = Op::kMax}});
    const Ref higher = nodes_.op(Op::kLess, ScalarType::kBool,
                                 {real(kSlack / factor), f32(Op::kSub, {row(kTop), row(kShift)})});
    set(kTop, nodes_.select(higher, row(kTop), row(kShift)), body);
    set(kShrink, called("exp2", f32(Op::kMul, {f32(Op::kSub, {row(kShift), row(kTop)}), scale})),
        body);
    set(kShift, row(kTop), body);
    set(kTotal, f32(Op::kMul, {row(kTotal), row(kShrink)}), body);
    const Ref near =
        nodes_.op(Op::kLess, ScalarType::kBool, {called("fabs", row(kShift)), real(kFar / factor)});
    const Ref less_shift = f32(Op::kSub, {a_.score, row(kShift)});
    body.push_back({tile::MapSums{.sums = kScores,
                                  .sum = a_.score,
                                  .value = nodes_.select(near, a_.score, less_shift),
                                  .unless = near}});
    set(kTop, nodes_.select(near, f32(Op::kMul, {row(kShift), scale}), real(0)), body);
    const Ref power = called("exp2", f32(Op::kFma, {a_.score, scale, f32(Op::kNeg, {row(kTop)})}));
    body.push_back({tile::MapSums{.sums = kScores, .sum = a_.score, .value = power}});
    body.push_back({tile::ReduceRows{
        .rows = kTotal, .sums = kScores, .op = Op::kAdd, .onto = true, .in_lanes = true}});
  }
  void round_weights(tile::Body& body) { body.push_back({tile::RoundSums{0, kScores}}); }

  tile::Body math() {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_);
    const SymbolId round = nodes_.new_symbol("k_round", tiles_k_ + 1);
    tile::Body body;
    const Work here = work(tile, body);
    const auto wait = [](int ring, tile::Body& to) { to.push_back({tile::Wait{ring}}); };
    const auto release = [](int ring, tile::Body& to) { to.push_back({tile::Release{ring}}); };
    const auto await = [](int left, tile::Body& to) { to.push_back({tile::Await{left}}); };

    set(kShift, real(kLeastScore), body);
    set(kTotal, real(0), body);
    body.push_back({tile::MapSums{.sums = kSums, .value = real(0)}});
    wait(kQuery, body);
    wait(kKeys, body);
    multiply_scores(body);
    await(0, body);
    release(kKeys, body);
    weigh(here, key_of(here, number(0)), body);
    round_weights(body);

    // The next scores are multiplied while this tile's values are.
    tile::Body inner;
    wait(kKeys, inner);
    if (s_.turns) inner.push_back({tile::TakeTurn{}});
    multiply_scores(inner);
    wait(kValues, inner);
    multiply_values(inner);
    if (s_.turns) inner.push_back({tile::PassTurn{}});
    await(1, inner);
    release(kKeys, inner);
    weigh(here, key_of(here, at(round)), inner);
    const Ref shrink = row(kShrink);
    inner.push_back(
        {tile::MapSums{.sums = kSums,
                       .sum = a_.mean,
                       .value = f32(Op::kMul, {a_.mean, shrink}),
                       .unless = nodes_.op(Op::kEqual, ScalarType::kBool, {shrink, real(1)}),
                       .awaits = true}});
    await(0, inner);
    release(kValues, inner);
    round_weights(inner);
    body.push_back(over_keys(round, here, std::move(inner)));

    release(kQuery, body);
    wait(kValues, body);
    multiply_values(body);
    body.push_back({tile::FoldRows{kTotal, Op::kAdd}});
    set(kTop, f32(Op::kDiv, {real(1), row(kTotal)}), body);
    await(0, body);
    release(kValues, body);
    Ref value = f32(Op::kMul, {a_.weighted, row(kTop)});
    if (!is_of_mean(a_)) {
      value = nodes_.replace(a_.value, [&](Ref node) -> Ref {
        return node == a_.mean ? value : node == a_.sum ? row(kTotal) : nullptr;
      });
      if (value->type != ScalarType::kF32) value = f32(Op::kCast, {value});
    }
    body.push_back({tile::MapSums{.sums = kSums, .sum = a_.weighted, .value = value}});
    store(here, body);
    return over_tiles(tile, std::move(body));
  }

  void store(const Work& work, tile::Body& body) {
    const nest::Nodes::Substitution batch = {{a_.batch, work.batch}};
    tile::Store store{.sums = kSums,
                      .row = nodes_.add(work.q_first, of_group()),
                      .column = number(0),
                      .row_symbol = a_.q,
                      .column_symbol = a_.e,
                      .rows = a_.queries,
                      .columns = a_.columns,
                      .buffer = a_.nest->buffer,
                      .type = a_.nest->type,
                      .sum = a_.mean,
                      .contiguous = a_.run_of_outputs};
    store.value = is_of_mean(a_) ? nodes_.substitute(a_.value, batch)
                  : a_.mean->type != a_.value->type
                      ? nodes_.op(Op::kCast, a_.value->type, {a_.mean})
                      : a_.mean;
    store.element = nodes_.substitute(a_.element, batch);
    store.guard = nodes_.substitute(a_.guard, batch);
    store.beside = inputs_beside(nodes_, store);
    body.push_back({std::move(store)});
  }

  const Attention& a_;
  const Schedule& s_;
  const Goal& goal_;
  Nodes& nodes_;
  std::int64_t tiles_q_ = 0, tiles_k_ = 0, tiles_ = 0, clusters_ = 0;
  std::vector<Source> sources_;
  tile::Program program_;
};

}  // namespace

bool has_bulk_operands(const Attention& a) {
  const bool half = a.query.type == ScalarType::kF16 || a.query.type == ScalarType::kBf16;
  return (is_of_mean(a) || is_of_sums(a)) && half && a.query.type == a.key.type &&
         a.query.type == a.values.type && source_of(a, a.query, "map_query", 64) &&
         source_of(a, a.key, "map_key", 64) && source_of(a, a.values, "map_values", 64);
}

tile::Program bulk_program(const Attention& a, const Schedule& s, const Goal& goal,
                           const std::string& prefix) {
  return BulkBuilder(a, s, goal, prefix).build();
}

Result<Generated> generate_bulk(const Attention& a, const Schedule& s, const Goal& goal,
                                const std::string& prefix) {
  return kernel_of(bulk_program(a, s, goal, prefix), goal);
}

}  // namespace hone::schedules::attention
