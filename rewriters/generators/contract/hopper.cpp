#include "rewriters/generators/contract/hopper.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "rewriters/affine/integers.h"
#include "rewriters/generators/contract/emit.h"
#include "rewriters/generators/products.h"
#include "rewriters/generators/tile_kernel.h"
#include "rewriters/tile/operands.h"

namespace hone::generators::contract {
namespace {

using nest::Node;
using nest::Nodes;
using nest::Term;

/// Of an operand: how far its neighbours are along batch, rows and k [elements].
struct Strides {
  std::int64_t batch = 0, outer = 0, k = 0;
};

/// Empty: the operand is no plain load from the buffer's first element on.
std::optional<Strides> strides_of(const Contraction& c, const Operand& operand) {
  const Ref value = operand.value;
  if (value->kind != Node::Kind::kLoad || value->type != operand.type) return std::nullopt;
  if (!operand.mask->is_constant() || operand.mask->constant == 0) return std::nullopt;
  const Ref element = value->args[0];
  if (element->kind != Node::Kind::kSum || element->constant != 0) return std::nullopt;
  Strides strides;
  for (const Term& term : element->terms) {
    if (term.atom->kind != Node::Kind::kIndex || term.coefficient < 0) return std::nullopt;
    if (term.atom->symbol == c.batch) {
      strides.batch = term.coefficient;
    } else if (term.atom->symbol == operand.outer) {
      strides.outer = term.coefficient;
    } else if (term.atom->symbol == operand.k) {
      strides.k = term.coefficient;
    } else {
      return std::nullopt;
    }
  }
  return strides;
}

/// The operand for bulk copies of `rows` x a line of k; empty: it cannot be.
std::optional<tile::View> view_of(const Contraction& c, const Operand& operand, int rows) {
  const auto strides = strides_of(c, operand);
  if (!strides) return std::nullopt;
  const bool along_k = strides->k == 1;
  if (!along_k && (strides->outer != 1 || is_fp8(operand.type))) return std::nullopt;
  const std::int64_t tile_k = tile::line_of(operand.type);
  const bool is_a = operand.outer == c.m;
  tile::View view{.name = is_a ? "map_a" : "map_b",
                  .buffer = operand.value->op,
                  .type = operand.type,
                  .swizzle = 128};
  const std::int64_t outer_size = is_a ? c.m_size : c.n_size;
  view.shape = along_k ? std::vector{outer_size, c.k_size} : std::vector{c.k_size, outer_size};
  view.strides = {along_k ? strides->outer : strides->k};
  view.box =
      along_k ? std::vector<std::int64_t>{rows, tile_k} : std::vector<std::int64_t>{tile_k, 64};
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
  const Ref element = c.element;
  if ((size_of(nest.type) != 2 && added_to_output(c) == nullptr) || c.contiguous_n < 2 ||
      !c.guard->is_constant() || c.guard->constant == 0 || element->kind != Node::Kind::kSum ||
      element->constant != 0)
    return std::nullopt;
  std::int64_t batch = 0, m = 0, n = 0;
  for (const Term& term : element->terms) {
    if (term.atom->kind != Node::Kind::kIndex || term.coefficient < 0) return std::nullopt;
    std::int64_t& stride = term.atom->symbol == c.batch ? batch : term.atom->symbol == c.m ? m : n;
    if (&stride == &n && term.atom->symbol != c.n) return std::nullopt;
    stride = term.coefficient;
  }
  if (n != 1 || c.m_size < 2) return std::nullopt;
  tile::View view{.name = "map_c",
                  .buffer = nest.buffer,
                  .type = nest.type,
                  .shape = {c.m_size, c.n_size},
                  .strides = {m},
                  .box = {64, tile::staged_columns(nest.type)},
                  .swizzle = 128};
  if (c.batch_size > 1) {
    view.shape.insert(view.shape.begin(), c.batch_size);
    view.strides.insert(view.strides.begin(), batch);
    view.box.insert(view.box.begin(), 1);
  }
  const ConcreteTensorMap map{0, view.shape, view.strides, view.box, view.swizzle};
  if (!mistake_in(spec_of(map, view.type, 0)).empty()) return std::nullopt;
  return view;
}

/// What the two roles have in common: which tile of the output is next, and of which part of k.
struct Place {
  SymbolId batch = -1, m_first = -1, n_first = -1;
  SymbolId slice = -1;  ///< only where sums are split
};

class BulkBuilder {
 public:
  BulkBuilder(const Contraction& c, const Schedule& s, const Goal& goal, const std::string& prefix)
      : c_(c), s_(s), goal_(goal), nodes_(*c.nodes), tile_k_(tile::line_of(c.a.type)) {
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
        "{}: {} x {} tiles of the output, {} of k at a time, {} in shared memory at once. A thread "
        "copies tiles there, {} of 128 threads multiply them; each block does every {}th tile.{}",
        c.describe(), s.bm, s.bn, tile_k_, s.stages,
        s.bm == 64 ? "a group" : fmt::format("{} groups", s.bm / 64), program_.grid / s.cluster,
        (s.cluster == 1 ? "" : fmt::format(" {} blocks share their tiles of B.", s.cluster)) +
            (s.split_k == 1
                 ? ""
                 : fmt::format(" {} tiles share each sum, {} of k each.", s.split_k, k_each_)));
  }

  tile::Program build() {
    program_.block = nodes_.new_symbol("block", program_.grid);
    program_.group = nodes_.new_symbol("group", s_.bm / 64);
    program_.views = {*view_of(c_, c_.a, s_.bm), *view_of(c_, c_.b, s_.bn / s_.cluster)};
    program_.sums = {{"sums", s_.bn}};
    if (in_runs() || in_short_runs()) program_.sums.push_back({"runs", s_.bn});
    const auto tile_of = [&](const char* name, const Operand& operand, int rows) {
      return tile::SharedTile{
          name, operand.type,
          tile::wgmma_operand(rows, tile_k_, strides_of(c_, operand)->k == 1, operand.type)};
    };
    program_.rings = {
        {"tiles", s_.stages, {tile_of("tile_a", c_.a, s_.bm), tile_of("tile_b", c_.b, s_.bn)}}};
    stage_outputs();
    parameters();
    const auto [load_registers, math_registers] = registers();
    program_.roles = {
        {.name = "load", .registers = load_registers, .one_thread = true, .body = {load()}},
        {.name = "math", .warp_groups = s_.bm / 64, .registers = math_registers, .body = {math()}}};
    return std::move(program_);
  }

 private:
  Ref number(std::int64_t value) { return nodes_.integer(value); }
  Ref at(SymbolId symbol) { return nodes_.index(symbol); }
  /// Of the block in its cluster.
  Ref rank() { return nodes_.remainder(at(program_.block), number(s_.cluster)); }

  /// Registers that the copying threads leave to the others.
  [[nodiscard]] std::pair<int, int> registers() const {
    const int groups = s_.bm / 64, each = tile::Limits().registers / (128 * (groups + 1)) / 8 * 8;
    if (groups == 1) return {0, 0};
    constexpr int kLoad = 24;
    return {kLoad, std::min(240, (each * (groups + 1) - kLoad) / groups / 8 * 8)};
  }

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
      program_.parameters = {{partial(), c_.total_type, true}};
      return;
    }
    for (const std::string& name : read_by_value())
      if (name != c_.nest->buffer)
        program_.parameters.push_back({name, goal_.buffer(name)->type, false});
    if (program_.stagings.empty())
      program_.parameters.push_back({c_.nest->buffer, c_.nest->type, true});
  }

  /// Where the sums of each part of k go.
  [[nodiscard]] std::string partial() const { return program_.prefix + "partial"; }

  [[nodiscard]] std::vector<std::string> read_by_value() const {
    std::vector<std::string> names;
    for (const Ref value : {c_.value, c_.guard, c_.element}) {
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
    const int rows = (is_a ? s_.bm : s_.bn) / (shared ? s_.cluster : 1), each = along_k ? rows : 64;
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
    if (in_runs()) {
      body.push_back(over_runs(k, of_group));
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

  /// Runs of a few tiles of k, each of which ends before its sums are added up.
  tile::Operation over_runs(SymbolId k, Ref of_group) {
    const std::int64_t length = std::min<std::int64_t>(tiles_of_run(s_) * tile_k_, k_each_);
    const SymbolId run = nodes_.new_symbol("run", k_each_);
    Ref end = nodes_.add(at(run), number(length));
    if (k_each_ % length != 0) end = nodes_.op("min", ScalarType::kI64, {end, number(k_each_)});
    tile::Loop of_run{k,
                      at(run),
                      end,
                      number(tile_k_),
                      {{tile::Wait{0}},
                       {tile::Multiply{1, 0, 0, 1, of_group, nodes_.is_zero(at(k))}},
                       {tile::Advance{0, nodes_.is_zero(nodes_.subtract(at(k), at(run)))}}},
                      ""};
    return {tile::Loop{
        run,
        number(0),
        number(k_each_),
        number(length),
        {{std::move(of_run)}, {tile::Drain{0}}, {tile::AddRuns{0, 1, nodes_.is_zero(at(run))}}},
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
    store.view = 2;
    store.to = {store.row, store.column};
    if (program_.views[2].shape.size() == 3) store.to.insert(store.to.begin(), at(where.batch));
    return store;
  }

  /// The sums themselves, as [slice, batch, m, n].
  tile::Store partial_store(const Place& where, Ref of_group) {
    tile::Store store = store_at(where, of_group);
    store.buffer = partial();
    store.type = c_.total_type;
    store.contiguous = c_.n_size % 2 == 0 ? 2 : 1;
    store.value = c_.sum;
    store.guard = nodes_.boolean(true);
    Ref matrix = nodes_.scale(at(where.slice), c_.batch_size);
    if (where.batch >= 0) matrix = nodes_.add(matrix, at(where.batch));
    store.element = nodes_.add(
        nodes_.scale(nodes_.add(nodes_.scale(matrix, c_.m_size), at(c_.m)), c_.n_size), at(c_.n));
    return store;
  }

  const Contraction& c_;
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
