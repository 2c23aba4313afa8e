#include "rewriters/generators/contract/hopper.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"
#include "rewriters/generators/contract/emit.h"
#include "rewriters/generators/products.h"
#include "rewriters/generators/tile_kernel.h"
#include "rewriters/tile/operands.h"

namespace hone::generators::contract {
namespace {

using nest::Node;
using nest::Nodes;

/// How far neighbours are along batch, rows or columns, and another index [elements].
struct Strides {
  std::int64_t batch = 0, outer = 0, other = 0;
};

/// Of an element from the buffer's first one on; empty: it is made in other ways, too.
std::optional<Strides> strides_of(Ref element, SymbolId batch, SymbolId outer, SymbolId other) {
  if (element->kind != Node::Kind::kSum || element->constant != 0) return std::nullopt;
  const nest::Strides strides = nest::strides_in(element, {batch, outer, other});
  if (!strides.others.empty() || std::ranges::min(strides.of) < 0) return std::nullopt;
  return Strides{strides.of[0], strides.of[1], strides.of[2]};
}

/// Of an operand, the other index being k; empty: it is no plain load.
std::optional<Strides> strides_of(const Contraction& c, const Operand& operand) {
  const Ref value = operand.value;
  if (value->kind != Node::Kind::kLoad || value->type != operand.type) return std::nullopt;
  if (!operand.mask->is_constant() || operand.mask->constant == 0) return std::nullopt;
  return strides_of(value->args[0], c.batch, operand.outer, operand.k);
}

/// The operand for bulk copies of `rows` x a line of k; empty: it cannot be.
std::optional<tile::View> view_of(const Contraction& c, const Operand& operand, int rows) {
  const auto strides = strides_of(c, operand);
  if (!strides) return std::nullopt;
  const bool along_k = strides->other == 1;
  if (!along_k && (strides->outer != 1 || is_fp8(operand.type))) return std::nullopt;
  const std::int64_t tile_k = tile::line_of(operand.type);  // and of rows, where they are lines
  const bool is_a = operand.outer == c.m;
  tile::View view{.name = is_a ? "map_a" : "map_b",
                  .buffer = operand.value->op,
                  .type = operand.type,
                  .swizzle = 128};
  const std::int64_t outer_size = is_a ? c.m_size : c.n_size;
  view.shape = along_k ? std::vector{outer_size, c.k_size} : std::vector{c.k_size, outer_size};
  view.strides = {along_k ? strides->outer : strides->other};
  view.box = along_k ? std::vector{std::int64_t{rows}, tile_k} : std::vector{tile_k, tile_k};
  if (strides->batch != 0) {
    view.shape.insert(view.shape.begin(), c.batch_size);
    view.strides.insert(view.strides.begin(), strides->batch);
    view.box.insert(view.box.begin(), 1);
  }
  const ConcreteTensorMap map{0, view.shape, view.strides, view.box, view.swizzle};
  if (!mistake_in(spec_of(map, view.type, 0)).empty()) return std::nullopt;
  return view;
}

bool reads(Ref value, const Contraction& c) {
  bool found = false;
  for_each(value, [&](Ref node) {
    found |= node->kind == Node::Kind::kLoad && node != c.sum && node->op == c.nest->buffer;
  });
  return found;
}

/// What is added to the output's own element, where the value of f32 is no more than that, as in
/// C += A * B; nullptr: it is not.
Ref added_to_output(const Contraction& c) {
  const Ref value = c.value;
  if (value->type != ScalarType::kF32 || c.nest->type != value->type || !value->is("+") ||
      value->args.size() != 2)
    return nullptr;
  for (const std::size_t own : {0, 1}) {
    const Ref load = value->args[own], other = value->args[1 - own];
    if (load->kind == Node::Kind::kLoad && load != c.sum && load->op == c.nest->buffer &&
        load->args[0] == c.element && other->type == value->type && !reads(other, c))
      return other;
  }
  return nullptr;
}

/// Outputs as bulk copies write them or, f32, add to them, in boxes of 64 rows; empty: not so.
std::optional<tile::View> output_view(const Contraction& c) {
  const nest::Nest& nest = *c.nest;
  if ((size_of(nest.type) != 2 && added_to_output(c) == nullptr) || c.contiguous_n < 2 ||
      !c.guard->is_constant() || c.guard->constant == 0)
    return std::nullopt;
  const auto strides = strides_of(c.element, c.batch, c.m, c.n);
  if (!strides || strides->other != 1 || c.m_size < 2) return std::nullopt;
  tile::View view{.name = "map_c",
                  .buffer = nest.buffer,
                  .type = nest.type,
                  .shape = {c.m_size, c.n_size},
                  .strides = {strides->outer},
                  .box = {64, tile::staged_columns(nest.type)},
                  .swizzle = 128};
  if (c.batch_size > 1) {
    view.shape.insert(view.shape.begin(), c.batch_size);
    view.strides.insert(view.strides.begin(), strides->batch);
    view.box.insert(view.box.begin(), 1);
  }
  const ConcreteTensorMap map{0, view.shape, view.strides, view.box, view.swizzle};
  if (!mistake_in(spec_of(map, view.type, 0)).empty()) return std::nullopt;
  return view;
}

/// Stages of what is made of B as tf32.
constexpr int kMadeStages = 3;  // one is written, one multiplied, one may wait for a slow group

/// What the roles have in common: which tile of the output is next, and of which part of k.
struct Place {
  SymbolId batch = -1, m_first = -1, n_first = -1;
  SymbolId slice = -1;  ///< only where sums are split
};

class BulkBuilder {
 public:
  BulkBuilder(const Contraction& given, const Schedule& s, const Goal& goal,
              const std::string& prefix)
      : given_(given),
        c_(is_hopper_tf32(s.pipe) && of_columns(given) ? transposed(given) : given),
        s_(s),
        goal_(goal),
        nodes_(*given.nodes),
        tile_k_(tile::line_of(given.a.type)) {
    const Contraction& c = c_;
    // A cluster's blocks have neighbouring rows of tiles: one tile here.
    tiles_m_ = ceil_divide(c.m_size, s.bm * s.cluster);
    tiles_n_ = ceil_divide(c.n_size, s.bn);
    of_slice_ = tiles_m_ * tiles_n_ * c.batch_size;
    tiles_ = of_slice_ * s.split_k;
    k_each_ = s.split_k == 1 ? c.k_size
                             : ceil_divide(ceil_divide(c.k_size, tile_k_), s.split_k) * tile_k_;
    program_.kernel = prefix + "contract";
    program_.prefix = prefix;
    program_.nodes = &nodes_;
    program_.cluster = s.cluster;
    const int sms = sms_for_clusters(goal, s.cluster);
    program_.grid = std::clamp<std::int64_t>(sms / s.cluster, 1, tiles_) * s.cluster;
    program_.comment = fmt::format(
        "{}{}: {} x {} tiles of the output, {} of k at a time, {} in shared memory at once. "
        "{}, {} of 128 threads multiply them; each block does every {}th tile.{}",
        c.describe(), is_turned() ? ", transposed" : "", s.bm, s.bn, tile_k_, s.stages,
        is_gathered(s.pipe) ? "A group of 128 threads writes those of one operand there"
                            : "A thread copies tiles there",
        s.bm == 64 ? "a group" : fmt::format("{} groups", s.bm / 64), program_.grid / s.cluster,
        (s.cluster == 1 ? "" : fmt::format(" {} blocks share their tiles of B.", s.cluster)) +
            (s.split_k == 1
                 ? ""
                 : fmt::format(" {} tiles share each sum, {} of k each.", s.split_k, k_each_)));
  }

  tile::Program build() {
    program_.block = nodes_.new_symbol("block", program_.grid);
    program_.group = nodes_.new_symbol("group", s_.bm / 64);
    program_.sums = {{"sums", s_.bn}};
    if (in_runs() || in_short_runs() || is_thrice(s_.pipe))
      program_.sums.push_back({"runs", s_.bn});
    const auto tile_of = [&](const char* name, const Operand& operand, int rows) {
      return tile::SharedTile{
          name, operand.type,
          tile::wgmma_operand(rows, tile_k_, strides_of(c_, operand)->other == 1, operand.type)};
    };
    if (!is_gathered(s_.pipe)) {
      program_.views = {*view_of(c_, c_.a, s_.bm), *view_of(c_, c_.b, s_.bn / s_.cluster)};
      program_.rings = {
          {"tiles", s_.stages, {tile_of("tile_a", c_.a, s_.bm), tile_of("tile_b", c_.b, s_.bn)}}};
    }
    if (is_hopper_tf32(s_.pipe)) {
      add_tf32_ring();
      program_.fragments = {{"of_a", static_cast<int>(tile_k_), ScalarType::kF32}};
      if (is_thrice(s_.pipe))
        program_.fragments.push_back({"rest_of_a", static_cast<int>(tile_k_), ScalarType::kF32});
    }
    stage_outputs();
    parameters();
    const auto [load_registers, math_registers] = registers();
    if (is_gathered(s_.pipe)) {
      name_elements();
      program_.roles = {{.name = "gather", .registers = load_registers, .body = {gather()}}};
    } else {
      program_.roles = {
          {.name = "load", .registers = load_registers, .one_thread = true, .body = {load()}}};
      if (is_hopper_tf32(s_.pipe))
        program_.roles.push_back(
            {.name = "split", .registers = kSplitRegisters, .body = {split()}});
    }
    program_.roles.push_back(
        {.name = "math", .warp_groups = s_.bm / 64, .registers = math_registers, .body = {math()}});
    return std::move(program_);
  }

 private:
  Ref number(std::int64_t value) { return nodes_.integer(value); }
  Ref at(SymbolId symbol) { return nodes_.index(symbol); }
  /// Of the block in its cluster.
  Ref rank() { return nodes_.remainder(at(program_.block), number(s_.cluster)); }

  /// Registers that the copying threads leave to the others.
  [[nodiscard]] std::pair<int, int> registers() const {
    const bool gathers = is_gathered(s_.pipe), split = is_hopper_tf32(s_.pipe) && !gathers;
    const int groups = s_.bm / 64, all = groups + (split ? 2 : 1);
    const int each = tile::Limits().registers / (128 * all) / 8 * 8;
    if (groups == 1 && !split) return {0, 0};
    const int first = gathers ? 80 : 24;
    const int others = first + (split ? kSplitRegisters : 0);
    return {first, std::min(240, (each * all - others) / groups / 8 * 8)};
  }
  static constexpr int kSplitRegisters = 72;  ///< what the compiler takes where there are enough

  /// B as wgmma reads it, rounded to tf32; of three products what that leaves, and where B lies
  /// along k this alone, as wgmma reads the upper bits of B itself.
  void add_tf32_ring() {
    program_.rings.push_back({"made", is_gathered(s_.pipe) ? s_.stages : kMadeStages, {}});
    for (const char* name : {"big_b", "rest_of_b"}) {
      const bool rest = name[0] == 'r';
      if (rest ? !is_thrice(s_.pipe) : is_thrice(s_.pipe) && reads_b_itself()) continue;
      program_.rings.back().tiles.push_back(
          {name, ScalarType::kF32, tile::wgmma_operand(s_.bn, tile_k_, true, ScalarType::kF32)});
    }
  }
  /// wgmma reads B's upper bits where a copy has brought it.
  [[nodiscard]] bool reads_b_itself() const {
    return !is_gathered(s_.pipe) && strides_of(c_, c_.b)->other == 1;
  }
  [[nodiscard]] bool is_turned() const { return c_.m != given_.m; }

  /// Where shared memory is left for it, outputs are copied in bulk, as many columns at a time as
  /// fit.
  void stage_outputs() {
    // Values that read the output's own buffer read it through a pointer.
    if (s_.split_k > 1 || (added_to_output(c_) == nullptr && reads(c_.value, c_))) return;
    const auto view = output_view(c_);
    for (int columns = s_.bn; view && columns >= 64; columns /= 2) {
      const tile::Staging staging{
          s_.bm / 64, {"staged", c_.nest->type, tile::staged_outputs(columns, c_.nest->type)}};
      if (program_.shared_bytes() + staging.warp_groups * staging.tile.bytes() >
          shared_limit(goal_))
        continue;
      program_.stagings = {staging};
      program_.views.push_back(*view);
      return;
    }
  }

  /// Buffers that the output's value reads, and the output where it is written by threads.
  void parameters() {
    if (s_.split_k > 1) {
      if (is_gathered(s_.pipe)) read_parameters({c_.a.value, c_.a.mask, c_.b.value, c_.b.mask});
      program_.parameters.push_back({partial(), c_.total_type, true});
      return;
    }
    std::vector<Ref> values = {c_.value, c_.guard, c_.element};
    if (is_gathered(s_.pipe))
      values.insert(values.end(), {c_.a.value, c_.a.mask, c_.b.value, c_.b.mask});
    read_parameters(values);
    if (program_.stagings.empty())
      program_.parameters.push_back({c_.nest->buffer, c_.nest->type, true});
  }
  void read_parameters(const std::vector<Ref>& values) {
    for (const std::string& name : read_by(values))
      if (name != c_.nest->buffer)
        program_.parameters.push_back({name, goal_.buffer(name)->type, false});
  }

  /// Where the sums of each part of k go.
  [[nodiscard]] std::string partial() const { return program_.prefix + "partial"; }

  [[nodiscard]] std::vector<std::string> read_by(const std::vector<Ref>& values) const {
    std::vector<std::string> names;
    for (const Ref value : values) {
      for_each(value, [&](Ref node) {
        if (node->kind == Node::Kind::kLoad && node != c_.sum &&
            std::ranges::find(names, node->op) == names.end())
          names.push_back(node->op);
      });
    }
    return names;
  }

  /// Names for the place of the `tile`th tile. Blocks that run together go through s.group rows of
  /// tiles: what they read stays in the L2.
  Place place(SymbolId tile, tile::Body& body) {
    const auto define = [&](const char* name, Ref value, std::int64_t extent) {
      const SymbolId symbol = nodes_.new_symbol(name, extent);
      body.push_back({tile::Define{symbol, value}});
      return symbol;
    };
    Place place;
    const std::int64_t of_batch = tiles_m_ * tiles_n_;
    Ref number_in = at(tile);
    if (s_.split_k > 1) {
      place.slice = define("slice", nodes_.divide(at(tile), number(of_slice_)), s_.split_k);
      const SymbolId in =
          define("in_slice", nodes_.remainder(at(tile), number(of_slice_)), of_slice_);
      number_in = at(in);
    }
    if (c_.batch_size > 1) {
      place.batch = define("batch_at", nodes_.divide(number_in, number(of_batch)), c_.batch_size);
      const SymbolId in =
          define("in_batch", nodes_.remainder(number_in, number(of_batch)), of_batch);
      number_in = at(in);
    }
    const std::int64_t group = std::min<std::int64_t>(s_.group, tiles_m_);
    const std::int64_t strip = group * tiles_n_;
    const Ref first_row = nodes_.scale(nodes_.divide(number_in, number(strip)), group);
    const Ref in_group = nodes_.remainder(number_in, number(strip));
    Ref row = nullptr, column = nullptr;
    if (tiles_m_ % group == 0) {
      row = nodes_.add(first_row, nodes_.remainder(in_group, number(group)));
      column = nodes_.divide(in_group, number(group));
    } else {
      const SymbolId rows_here =
          define("rows_here",
                 nodes_.op("min", ScalarType::kI64,
                           {number(group), nodes_.subtract(number(tiles_m_), first_row)}),
                 group + 1);
      row = nodes_.add(first_row, nodes_.remainder(in_group, at(rows_here)));
      column = nodes_.divide(in_group, at(rows_here));
    }
    row = nodes_.add(nodes_.scale(row, s_.cluster), rank());
    place.m_first = define("m_first", nodes_.scale(row, s_.bm), tiles_m_ * s_.cluster * s_.bm);
    place.n_first = define("n_first", nodes_.scale(column, s_.bn), tiles_n_ * s_.bn);
    return place;
  }

  tile::Operation over_tiles(SymbolId tile, tile::Body body) {
    return {tile::Loop{tile, nodes_.divide(at(program_.block), number(s_.cluster)), number(tiles_),
                       number(program_.grid / s_.cluster), std::move(body), ""}};
  }
  tile::Loop over_k(SymbolId k, tile::Body body) {
    return {k, number(0), number(k_each_), number(tile_k_), std::move(body), ""};
  }

  /// Boxes of one operand at (batch, first, k).
  void copies(bool is_a, const Place& place, SymbolId k, tile::Body& body) {
    const tile::View& view = program_.views[is_a ? 0 : 1];
    const Ref first = at(is_a ? place.m_first : place.n_first);
    const Ref k_at =
        place.slice < 0 ? at(k) : nodes_.add(nodes_.scale(at(place.slice), k_each_), at(k));
    const bool along_k = tile::is_along_k(program_.rings[0].tiles[is_a ? 0 : 1]);
    const bool batched = view.shape.size() == 3;
    // Each block of a cluster copies its share of B, for all.
    const bool shared = !is_a && s_.cluster > 1;
    const int rows = (is_a ? s_.bm : s_.bn) / (shared ? s_.cluster : 1);
    const int each = along_k ? rows : static_cast<int>(tile_k_);
    for (int row = 0; row < rows; row += each) {
      tile::BulkCopy copy{.ring = 0, .tile = is_a ? 0 : 1, .view = is_a ? 0 : 1};
      if (batched) copy.from.push_back(at(place.batch));
      Ref outer = nodes_.add(first, number(row));
      if (shared) {
        outer = nodes_.add(outer, nodes_.scale(rank(), rows));
        copy.step_by_rank = {rows, 0};
      }
      copy.from.push_back(along_k ? outer : k_at);
      copy.from.push_back(along_k ? k_at : outer);
      copy.to = {row, 0};
      body.push_back({std::move(copy)});
    }
  }

  tile::Operation load() {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_);
    const SymbolId k = nodes_.new_symbol("k_first", k_each_);
    tile::Body body;
    const Place where = place(tile, body);
    tile::Body round = {{tile::Acquire{0}}};
    copies(true, where, k, round);
    copies(false, where, k, round);
    round.push_back({tile::Commit{0}});
    body.push_back({over_k(k, std::move(round))});
    return over_tiles(tile, std::move(body));
  }

  tile::Operation math() {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_);
    const SymbolId k = nodes_.new_symbol("k_first", k_each_);
    tile::Body body;
    const Place where = place(tile, body);
    const Ref of_group = s_.bm == 64 ? number(0) : nodes_.scale(at(program_.group), 64);
    const Ref fresh = nodes_.is_zero(at(k));
    if (is_hopper_tf32(s_.pipe)) {
      if (is_gathered(s_.pipe)) body.push_back(gather_a(where, number(0), of_group));
      body.push_back(is_thrice(s_.pipe) || !in_runs()
                         ? tile::Operation{over_k(k, tf32_round(where, k, of_group))}
                         : over_runs(where, k, of_group));
    } else if (in_runs()) {
      body.push_back(over_runs(where, k, of_group));
    } else if (in_short_runs()) {
      tile::Loop loop = over_k(k, {{tile::Wait{0}},
                                   {tile::Multiply{1, 0, 0, 1, of_group, nodes_.boolean(true)}},
                                   {tile::Await{0}},
                                   {tile::Release{0}},
                                   {tile::AddRuns{0, 1, fresh, true}}});
      loop.comment = fmt::format(
          "The tensor cores' sums have 13 places: those of {} terms are added up in f32.", tile_k_);
      body.push_back({std::move(loop)});
    } else {
      body.push_back({over_k(k, {{tile::Wait{0}},
                                 {tile::Multiply{0, 0, 0, 1, of_group, fresh}},
                                 {tile::Advance{0, fresh}}})});
      body.push_back({tile::Drain{0}});
    }
    body.push_back({s_.split_k > 1 ? partial_store(where, of_group) : store(where, of_group)});
    return over_tiles(tile, std::move(body));
  }

  void name_elements() {
    using Order = tile::Elements::Order;
    const int k = static_cast<int>(tile_k_);
    program_.elements = {
        {"next_of_a", 64, k, Order::kFragments},
        {"next_of_b", s_.bn, k, c_.b.along_k ? Order::kAlongK : Order::kAlongRows}};
  }
  /// Reads the elements of an operand of `size` rows from (first, k) on; what lies beyond is 0.
  tile::Operation gather_of(int elements, const Operand& operand, const Place& where, Ref first,
                            Ref k, std::int64_t size) {
    const Ref k_at = where.slice < 0 ? k : nodes_.add(nodes_.scale(at(where.slice), k_each_), k);
    const auto reach = [&](Ref from, std::int64_t more) {
      const auto range = nodes_.range(from);
      return (range ? range->high : INT32_MAX) + more;
    };
    tile::Gather gather;
    gather.elements = elements;
    gather.row = first;
    gather.k = k_at;
    gather.row_symbol = nodes_.new_symbol("row", reach(first, program_.elements[elements].rows));
    gather.k_symbol = nodes_.new_symbol("k", reach(k_at, tile_k_));
    const Ref row = at(gather.row_symbol), of_k = at(gather.k_symbol);
    nest::Nodes::Substitution places = {{operand.outer, row}, {operand.k, of_k}};
    if (where.batch >= 0) places[c_.batch] = at(where.batch);
    Ref end = number(c_.k_size);
    if (where.slice >= 0) {
      const Ref next = nodes_.add(at(where.slice), number(1));
      end = nodes_.op("min", ScalarType::kI64, {end, nodes_.scale(next, k_each_)});
    }
    const Ref there =
        nodes_.both(nodes_.both(nodes_.less(row, number(size)), nodes_.less(of_k, end)),
                    nodes_.substitute(operand.mask, places));
    const Ref value = nodes_.cast(nodes_.substitute(operand.value, places), ScalarType::kF32);
    gather.value = nodes_.select(there, value, nodes_.number(0, ScalarType::kF32));
    return {std::move(gather)};
  }
  tile::Operation gather_a(const Place& where, Ref k, Ref of_group) {
    return gather_of(0, c_.a, where, nodes_.add(at(where.m_first), of_group), k, c_.m_size);
  }
  tile::Operation gather_b(const Place& where, Ref k) {
    return gather_of(1, c_.b, where, at(where.n_first), k, c_.n_size);
  }

  /// B to what wgmma reads of it, its elements read a tile ahead.
  tile::Operation gather() {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_);
    const SymbolId k = nodes_.new_symbol("k_first", k_each_);
    tile::Body body;
    const Place where = place(tile, body);
    body.push_back(gather_b(where, number(0)));
    body.push_back({over_k(k, {{tile::Acquire{0}},
                               {tile::WriteTile{1, 0, 0, is_thrice(s_.pipe) ? 1 : -1}},
                               {tile::Commit{0}},
                               gather_b(where, nodes_.add(at(k), number(tile_k_)))})});
    return over_tiles(tile, std::move(body));
  }

  /// B to what wgmma reads of it.
  tile::Operation split() {
    const bool both = program_.rings[1].tiles.size() == 2;
    const int big = both || !is_thrice(s_.pipe) ? 0 : -1;
    const int rest = !is_thrice(s_.pipe) ? -1 : both ? 1 : 0;
    return over_tiles(
        nodes_.new_symbol("tile", tiles_),
        {{over_k(nodes_.new_symbol("k_first", k_each_), {{tile::Wait{0}},
                                                         {tile::Acquire{1}},
                                                         {tile::SplitTile{0, 1, 1, big, rest}},
                                                         {tile::Commit{1}},
                                                         {tile::Release{0}}})}});
  }

  /// One tile of k as tf32: once, or the three products of halves that matter, the small ones
  /// first.
  tile::Body tf32_round(const Place& where, SymbolId k, Ref of_group) {
    const Ref fresh = nodes_.is_zero(at(k));
    const bool gathered = is_gathered(s_.pipe), thrice = is_thrice(s_.pipe);
    const bool itself = reads_b_itself() && thrice;  // wgmma reads the ring of copies, too
    const int made = gathered ? 0 : 1, sums = thrice || in_runs() ? 1 : 0;
    tile::Body body;
    if (gathered) {
      body.push_back({tile::RoundElements{0, 0, thrice ? 1 : -1}});
    } else {
      body.push_back({tile::Wait{0}});
      body.push_back({tile::ReadFragments{0, thrice ? 1 : -1, 0, 0, of_group}});
      if (!itself) body.push_back({tile::Release{0}});
    }
    body.push_back({tile::Wait{made}});
    const int big_ring = itself ? 0 : made, big = itself ? 1 : 0;
    if (thrice) {
      const Ref first = in_runs() ? fresh : nodes_.boolean(true);
      body.push_back({tile::Multiply{sums, big_ring, 0, big, nullptr, first, -1, 1}});
      body.push_back({tile::Multiply{sums, made, 0, itself ? 0 : 1, nullptr, nullptr, -1, 0}});
    }
    body.push_back(
        {tile::Multiply{sums, big_ring, 0, big, nullptr, thrice ? nullptr : fresh, -1, 0}});
    // The next elements are on their way while the tensor cores are at these.
    if (gathered) body.push_back(gather_a(where, nodes_.add(at(k), number(tile_k_)), of_group));
    body.push_back({tile::Await{0}});
    if (itself) body.push_back({tile::Release{0}});
    body.push_back({tile::Release{made}});
    if (thrice) body.push_back({tile::AddRuns{0, 1, fresh, !in_runs()}});
    return body;
  }

  /// Runs of a few tiles of k, each of which ends before its sums are added up.
  tile::Operation over_runs(const Place& where, SymbolId k, Ref of_group) {
    const std::int64_t length = std::min<std::int64_t>(tiles_of_run(s_) * tile_k_, k_each_);
    const SymbolId run = nodes_.new_symbol("run", k_each_);
    Ref end = nodes_.add(at(run), number(length));
    if (k_each_ % length != 0) end = nodes_.op("min", ScalarType::kI64, {end, number(k_each_)});
    const bool tf32 = is_hopper_tf32(s_.pipe);
    tile::Body round = {{tile::Wait{0}},
                        {tile::Multiply{1, 0, 0, 1, of_group, nodes_.is_zero(at(k))}},
                        {tile::Advance{0, nodes_.is_zero(nodes_.subtract(at(k), at(run)))}}};
    if (tf32) round = tf32_round(where, k, of_group);
    tile::Body body = {{tile::Loop{k, at(run), end, number(tile_k_), std::move(round), ""}}};
    if (!tf32) body.push_back({tile::Drain{0}});
    body.push_back({tile::AddRuns{0, 1, nodes_.is_zero(at(run))}});
    return {tile::Loop{run, number(0), number(k_each_), number(length), std::move(body),
                       fmt::format("Terms are added in f32 in runs of {}.", length)}};
  }
  [[nodiscard]] bool in_runs() const { return adds_in_runs(c_, s_.pipe); }
  [[nodiscard]] bool in_short_runs() const { return adds_in_short_runs(c_, s_.pipe); }

  [[nodiscard]] tile::Store store_at(const Place& where, Ref of_group) {
    return {.sums = 0,
            .runs = in_runs() ? 1 : -1,
            .row = nodes_.add(at(where.m_first), of_group),
            .column = at(where.n_first),
            .row_symbol = c_.m,
            .column_symbol = c_.n,
            .rows = c_.m_size,
            .columns = c_.n_size,
            .sum = c_.sum};
  }

  tile::Store store(const Place& where, Ref of_group) {
    tile::Store store = store_at(where, of_group);
    store.buffer = c_.nest->buffer;
    store.type = c_.nest->type;
    store.contiguous = c_.contiguous_n;
    nest::Nodes::Substitution batch;
    if (where.batch >= 0) batch[c_.batch] = at(where.batch);
    const Ref added = program_.stagings.empty() ? nullptr : added_to_output(c_);
    store.adds = added != nullptr;
    store.value = nodes_.substitute(store.adds ? added : c_.value, batch);
    store.element = nodes_.substitute(c_.element, batch);
    store.guard = nodes_.substitute(c_.guard, batch);
    store.beside = inputs_beside(nodes_, store);
    if (program_.stagings.empty()) return store;
    store.staging = 0;
    store.view = static_cast<int>(program_.views.size()) - 1;
    store.to = {store.row, store.column};
    if (program_.views.back().shape.size() == 3) store.to.insert(store.to.begin(), at(where.batch));
    return store;
  }

  /// The sums themselves, as [slice, batch, m, n].
  tile::Store partial_store(const Place& where, Ref of_group) {
    tile::Store store = store_at(where, of_group);
    store.buffer = partial();
    store.type = c_.total_type;
    store.contiguous = !is_turned() && c_.n_size % 2 == 0 ? 2 : 1;
    store.value = c_.sum;
    store.guard = nodes_.boolean(true);
    Ref matrix = nodes_.scale(at(where.slice), c_.batch_size);
    if (where.batch >= 0) matrix = nodes_.add(matrix, at(where.batch));
    store.element = nodes_.add(
        nodes_.scale(nodes_.add(nodes_.scale(matrix, given_.m_size), at(given_.m)), given_.n_size),
        at(given_.n));
    return store;
  }

  const Contraction& given_;
  const Contraction c_;  ///< rows and columns as wgmma has them
  const Schedule& s_;
  const Goal& goal_;
  Nodes& nodes_;
  const std::int64_t tile_k_;  ///< 128 bytes, as wide as a swizzle
  std::int64_t tiles_m_ = 0, tiles_n_ = 0, tiles_ = 0;
  std::int64_t of_slice_ = 0;  ///< tiles
  std::int64_t k_each_ = 0;    ///< of each tile
  tile::Program program_;
};

}  // namespace

bool has_bulk_operands(const Contraction& c) {
  const bool half = c.a.type == ScalarType::kF16 || c.a.type == ScalarType::kBf16;
  const bool fp8 = is_fp8(c.a.type) && is_fp8(c.b.type) && c.total_type == ScalarType::kF32;
  const bool same_half =
      half && c.a.type == c.b.type && (c.total_type == ScalarType::kF32 || c.narrow_terms);
  return (fp8 || same_half) && view_of(c, c.a, 64).has_value() && view_of(c, c.b, 64).has_value();
}

bool has_bulk_f32(const Contraction& c) {
  return c.a.type == ScalarType::kF32 && c.b.type == ScalarType::kF32 &&
         (c.total_type == ScalarType::kF32 || c.narrow_terms) && view_of(c, c.a, 64).has_value() &&
         view_of(c, c.b, 64).has_value();
}

bool has_gathered_f32(const Contraction& c) {
  const auto is_f32 = [&](const Operand& operand) {
    return operand.type == ScalarType::kF32 && !reads(operand.value, c) && !reads(operand.mask, c);
  };
  return is_f32(c.a) && is_f32(c.b);
}

bool of_columns(const Contraction& c) { return c.a.along_k && !c.b.along_k; }

Contraction transposed(const Contraction& c) {
  Contraction turned = c;
  std::swap(turned.a, turned.b);
  std::swap(turned.m, turned.n);
  std::swap(turned.m_size, turned.n_size);
  for (Bound& bound : turned.bounds) std::swap(bound.row, bound.column);
  turned.contiguous_n = longest_run(*c.nodes, c.element, turned.n, c.nest->type);
  return turned;
}

std::int64_t tf32_bytes(const Contraction& c, const Schedule& s) {
  if (is_gathered(s.pipe))
    return s.stages * (std::int64_t{128} * s.bn * (is_thrice(s.pipe) ? 2 : 1) + 16);
  const bool turned = of_columns(c);
  const bool along_k = strides_of(c, turned ? c.a : c.b)->other == 1;
  const int tiles = s.pipe == Pipe::kBulkTf32x3 && !along_k ? 2 : 1;
  const std::int64_t line = 128;  // [B] of k
  return line * (s.stages * (s.bm + s.bn) + std::int64_t{kMadeStages} * tiles * s.bn) +
         std::int64_t{16} * (s.stages + kMadeStages);
}

double bulk_rate(const Contraction& c, const Operand& operand) {
  const auto view = view_of(c, operand, 64);
  const std::int64_t row =
      view ? view->strides.back() * static_cast<std::int64_t>(size_of(operand.type)) : 0;
  return row % 128 == 0 ? 60 : 25;
}

tile::Program bulk_program(const Contraction& c, const Schedule& s, const Goal& goal,
                           const std::string& prefix) {
  return BulkBuilder(c, s, goal, prefix).build();
}

Result<Generated> generate_bulk(const Contraction& c, const Schedule& s, const Goal& goal,
                                const std::string& prefix) {
  auto generated = kernel_of(bulk_program(c, s, goal, prefix), goal);
  if (!generated || s.split_k == 1) return generated;
  const Emitter emit(c, s, goal, prefix);
  generated->source += emit.second_kernel();
  generated->launches.push_back(emit.second_launch());
  generated->scratch.push_back(emit.partial_sums());
  return generated;
}

}  // namespace hone::generators::contract
