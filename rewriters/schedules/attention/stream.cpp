#include "rewriters/schedules/attention/stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/attention/builder.h"
#include "rewriters/schedules/attention/tile.h"
#include "rewriters/schedules/products.h"
#include "rewriters/schedules/tile_kernel.h"
#include "rewriters/tile/operands.h"

namespace hone::schedules::attention {
namespace {

/// As many blocks on a multiprocessor as registers and shared memory let.
int resident(const Attention& a, const Schedule& s, const Goal& goal) {
  const std::int64_t memory =
      goal.context == nullptr ? 228 * 1024 : goal.context->target.shared_per_sm;
  const std::int64_t registers = ceil_divide(registers_of(a, s), 8) * 8;
  const std::int64_t blocks = std::min({std::int64_t{65536} / (s.threads() * registers),
                                        std::int64_t{4}, memory / (shared_bytes(a, s) + 1024)});
  return static_cast<int>(blocks > 1 ? blocks : 0);
}

class WarpBuilder : Builder {
 public:
  WarpBuilder(const Attention& a, const Schedule& s, const Goal& goal, const std::string& prefix)
      : Builder(a, s, goal, prefix, s.warp_rows), tiles_q_(ceil_divide(a.queries, s.rows)) {
    program_.grid = tiles_q_ * a.batches;
    program_.resident = resident(a, s, goal);
    program_.comment = fmt::format(
        "{}: {} queries a block, {} of each warp, {} keys at a time, {}.", a.describe(), s.rows,
        s.warp_rows, s.keys,
        s.stages > 1 ? fmt::format("{} tiles of them in shared memory at once", s.stages)
                     : "the next keys under way while values are used, and the other way round");
  }

  tile::Program build() {
    const int warps = s_.threads() / 32;
    program_.block = nodes_.new_symbol("block", program_.grid);
    program_.warp = nodes_.new_symbol("warp", warps);
    program_.rings = {{"tiles", s_.stages, {shared(Which::kKey), shared(Which::kValues)}},
                      {"query", 1, {shared(Which::kQuery)}}};
    const int depth = padded_depth(a_, s_.pipe), columns = padded_columns(a_, s_.pipe);
    const ScalarType type = tile_of(a_, s_, Which::kQuery).type;
    if (fma()) {
      program_.rings.push_back(
          {"weights",
           1,
           {{"tile_weights", type, tile::padded_lines(s_.rows, s_.keys, false, s_.rows + 4)}}});
      program_.sums = {{"scores", s_.keys / 16, Schedule::kFmaRows, tile::SumsOf::kHalfWarp},
                       {"sums", columns / 16, Schedule::kFmaRows, tile::SumsOf::kHalfWarp}};
    } else {
      program_.sums = {{"scores", s_.keys, s_.warp_rows, tile::SumsOf::kWarp},
                       {"sums", columns, s_.warp_rows, tile::SumsOf::kWarp}};
      program_.fragments = {{"weights", s_.keys, type, s_.warp_rows}};
    }
    if (thrice()) program_.fragments.push_back({"weights_left", s_.keys, type, s_.warp_rows});
    if (s_.query_in_registers) program_.fragments.push_back({"query", depth, type, s_.warp_rows});
    add_rows(s_.warp_rows);
    add_parameters({a_.query.value, a_.key.value, a_.values.value});
    program_.roles = {{.name = "all", .warps = warps, .body = body()}};
    return std::move(program_);
  }

 private:
  static constexpr int kTiles = 0, kQuery = 1, kKept = 2;  // rings
  static constexpr int kKey = 0, kValues = 1;              // tiles of the first
  // Fragments after the weights: no program has both.
  static constexpr int kWeightsLeft = 1, kQueryFragments = 1;

  [[nodiscard]] bool fma() const { return s_.pipe == Pipe::kFma; }
  [[nodiscard]] bool thrice() const { return s_.pipe == Pipe::kTf32x3; }

  /// (row, column) of queries and keys; of values (column, key), which are added up over keys.
  tile::SharedTile shared(Which which) {
    const Tile tile = tile_of(a_, s_, which);
    if (which == Which::kValues) {
      return {"tile_values", tile.type,
              tile::padded_lines(tile.columns, tile.rows, tile.transposed, tile.stride)};
    }
    return {which == Which::kKey ? "tile_key" : "tile_query", tile.type,
            tile::padded_lines(tile.rows, tile.columns, !tile.transposed, tile.stride)};
  }

  tile::CopyTile copy(Which which, int place, Ref first) {
    const Operand& operand = operand_of(a_, which);
    const Tile tile = tile_of(a_, s_, which);
    tile::CopyTile copy{.tile = place,
                        .value = operand.value,
                        .mask = nodes_.boolean(true),
                        .row_symbol = operand.row,
                        .k_symbol = operand.column,
                        .row = first,
                        .k = number(0),
                        .rows = nodes_.extent(operand.row),
                        .ks = nodes_.extent(operand.column),
                        .way = tile.async ? tile::CopyWay::kAsync : tile::CopyWay::kAtOnce,
                        .along_k = !tile.along_rows,
                        .piece = tile.piece};
    if (which == Which::kValues) {
      std::swap(copy.row_symbol, copy.k_symbol);
      std::swap(copy.row, copy.k);
      std::swap(copy.rows, copy.ks);
      copy.along_k = !copy.along_k;
    }
    return copy;
  }

  /// Which queries a block and a warp have. The last queries go first, where they have most to do.
  Work work(tile::Body& body) {
    const Ref block = at(program_.block);
    Work work{.batch = at(a_.batch)};
    body.push_back({tile::Define{a_.batch, nodes_.divide(block, number(tiles_q_))}});
    Ref q = nodes_.remainder(block, number(tiles_q_));
    if (last_are_longest(a_)) q = nodes_.subtract(number(tiles_q_ - 1), q);
    work.q_first = define("q_first", nodes_.scale(q, s_.rows), (tiles_q_ - 1) * s_.rows + 1, body);
    warp_row_ = nodes_.scale(at(program_.warp), s_.warp_rows);
    work.row = nodes_.add(work.q_first, warp_row_);
    range(work, body);
    return work;
  }

  tile::Body body() {
    tile::Body body;
    const Work here = work(body);
    begin(body);
    body.push_back({stream(here)});
    end(body);
    store(here, body);
    return body;
  }

  tile::Stream stream(const Work& here) {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_k_);
    const Ref k_first = nodes_.scale(at(tile), s_.keys);
    tile::Stream stream{
        .ring = kTiles,
        .symbol = tile,
        .first = here.first,
        .end = nodes_.add(here.last, number(1)),
        .copies = {copy(Which::kKey, kKey, k_first), copy(Which::kValues, kValues, k_first)},
        .once_ring = kQuery,
        .once = {copy(Which::kQuery, 0, here.q_first)}};
    if (s_.query_in_registers) {
      stream.before = {{tile::ReadFragments{
          .fragments = kQueryFragments, .ring = kQuery, .tile = 0, .row = warp_row_}}};
    }
    stream.body.push_back(scores());
    if (s_.stages == 1) stream.body.push_back({tile::Exchange{}});
    shift(here, k_first, stream.body);
    // Before the weights are made: that goes on beside the products that follow.
    stream.body.push_back({shrink_sums(false)});
    weigh(stream.body);
    add_values(stream.body);
    return stream;
  }

  tile::Operation scores() {
    if (fma()) {
      return {tile::HalfWarpMultiply{.sums = kScores,
                                     .ring = kTiles,
                                     .b = kKey,
                                     .a_ring = kQuery,
                                     .a_row = warp_row_,
                                     .fresh = true}};
    }
    return {tile::WarpMultiply{.sums = kScores,
                               .ring = kTiles,
                               .a = 0,
                               .b = kKey,
                               .a_row = warp_row_,
                               .b_row = number(0),
                               .fresh = true,
                               .thrice = thrice(),
                               .a_ring = kQuery,
                               .fragments = s_.query_in_registers ? kQueryFragments : -1,
                               .ahead = false}};
  }

  /// Weights times values: threads have other columns of weights than they need.
  void add_values(tile::Body& body) {
    if (fma()) {
      body.push_back({tile::KeepSums{.sums = kScores, .ring = kKept, .row = warp_row_}});
      body.push_back({tile::HalfWarpMultiply{
          .sums = kSums, .ring = kTiles, .b = kValues, .a_ring = kKept, .a_row = warp_row_}});
      return;
    }
    const int left = thrice() ? kWeightsLeft : -1;
    body.push_back({tile::RoundSums{kWeights, kScores, left}});
    body.push_back({tile::WarpMultiply{.sums = kSums,
                                       .ring = kTiles,
                                       .b = kValues,
                                       .b_row = number(0),
                                       .thrice = thrice(),
                                       .fragments = kWeights,
                                       .rest = left,
                                       .ahead = false,
                                       .in_parts = thrice()}});
  }

  const std::int64_t tiles_q_;
  Ref warp_row_ = nullptr;
};

}  // namespace

tile::Program stream_program(const Attention& a, const Schedule& s, const Goal& goal,
                             const std::string& prefix) {
  return WarpBuilder(a, s, goal, prefix).build();
}

Result<Generated> generate_stream(const Attention& a, const Schedule& s, const Goal& goal,
                                  const std::string& prefix) {
  return kernel_of(stream_program(a, s, goal, prefix), goal);
}

}  // namespace hone::schedules::attention
