#include "rewriters/schedules/attention/hopper.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"
#include "rewriters/schedules/attention/builder.h"
#include "rewriters/schedules/products.h"
#include "rewriters/schedules/tile_kernel.h"
#include "rewriters/tile/operands.h"

namespace hone::schedules::attention {
namespace {

using nest::Node;
using nest::Nodes;
using nest::Term;

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

class BulkBuilder : Builder {
 public:
  BulkBuilder(const Attention& a, const Schedule& s, const Goal& goal, const std::string& prefix)
      : Builder(a, s, goal, prefix, 64) {
    // A cluster's blocks have neighbouring queries: one tile here.
    tiles_q_ = ceil_divide(a.queries, s.rows * s.cluster);
    tiles_ = tiles_q_ * a.batches;
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
    add_rows(16);
    add_parameters({});
    const auto [load_registers, math_registers] = role_registers(s_.rows);
    program_.roles = {
        {.name = "load", .registers = load_registers, .one_thread = true, .body = load()},
        {.name = "math", .warp_groups = s_.rows / 64, .registers = math_registers, .body = math()}};
    return std::move(program_);
  }

 private:
  static constexpr int kQuery = 0, kKeys = 1, kValues = 2;  // rings, views and sources

  /// Of the block in its cluster.
  Ref rank() { return nodes_.remainder(at(program_.block), number(s_.cluster)); }

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
    work.row = nodes_.add(work.q_first, of_group());
    range(work, body);
    return work;
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
    body.push_back({tile::Multiply{.sums = kSums, .ring = kValues, .fragments = kWeights}});
  }
  void round_weights(tile::Body& body) { body.push_back({tile::RoundSums{kWeights, kScores}}); }

  tile::Body math() {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_);
    const SymbolId round = nodes_.new_symbol("k_round", tiles_k_ + 1);
    tile::Body body;
    const Work here = work(tile, body);
    const auto wait = [](int ring, tile::Body& to) { to.push_back({tile::Wait{ring}}); };
    const auto release = [](int ring, tile::Body& to) { to.push_back({tile::Release{ring}}); };
    const auto await = [](int left, tile::Body& to) { to.push_back({tile::Await{left}}); };

    begin(body);
    body.push_back({tile::MapSums{.sums = kSums, .value = real(0)}});
    wait(kQuery, body);
    wait(kKeys, body);
    multiply_scores(body);
    await(0, body);
    release(kKeys, body);
    shift(here, key_of(here, number(0)), body);
    weigh(body);
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
    shift(here, key_of(here, at(round)), inner);
    weigh(inner);
    inner.push_back({shrink_sums(true)});
    await(0, inner);
    release(kValues, inner);
    round_weights(inner);
    body.push_back(over_keys(round, here, std::move(inner)));

    release(kQuery, body);
    wait(kValues, body);
    multiply_values(body);
    end(body);
    await(0, body);
    release(kValues, body);
    store(here, body);
    return over_tiles(tile, std::move(body));
  }

  std::int64_t tiles_q_ = 0, tiles_ = 0, clusters_ = 0;
  std::vector<Source> sources_;
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
