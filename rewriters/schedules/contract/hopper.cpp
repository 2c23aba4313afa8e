#include "rewriters/schedules/contract/hopper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/contract/bulk_builder.h"
#include "rewriters/schedules/contract/finish.h"
#include "rewriters/schedules/contract/places.h"
#include "rewriters/schedules/products.h"
#include "rewriters/schedules/tile_kernel.h"
#include "rewriters/tile/operands.h"

namespace hone::schedules::contract {

using nest::Node;

BulkBuilder::BulkBuilder(const Contraction& given, const Schedule& s, const Goal& goal,
                         const std::string& prefix)
    : given_(given),
      c_(as_multiplied(given, s, prefix)),
      s_(s),
      goal_(goal),
      nodes_(*given.nodes),
      tile_k_(tile::line_of(c_.a.type)),
      prefix_(prefix) {
  if (uses_patches(given, s.pipe)) {
    tiling_ = *tiling_of(*given.patches, s.bm);
    arrange_in_patches();
  } else {
    const BulkWay way = way_of(given, s);
    const Contraction before = way.turned ? transposed(given) : given;
    if (way.a.packs) packings_.push_back(packing_of(before, before.a, way.a.type));
    if (way.b.packs) packings_.push_back(packing_of(before, before.b, way.b.type));
  }
  const Contraction& c = c_;
  // A cluster's blocks have neighbouring rows of tiles: one tile here.
  tiles_m_ = ceil_divide(c.m_size, s.bm * s.cluster);
  tiles_n_ = ceil_divide(c.n_size, s.bn);
  of_slice_ = tiles_m_ * tiles_n_ * c.batch_size;
  tiles_ = of_slice_ * (s.share_by_cluster ? 1 : s.split_k);
  const std::int64_t whole = tiling_ ? tiling_->groups * tile_k_ : tile_k_;  // of k, undivided
  k_each_ =
      s.split_k == 1 ? c.k_size : ceil_divide(ceil_divide(c.k_size, whole), s.split_k) * whole;
  program_.kernel = prefix + "contract";
  program_.prefix = prefix;
  program_.nodes = &nodes_;
  program_.cluster = cluster_of(s);
  if (!tiling_) bounds_ = bounds_of_tiles(c);
  // Tiles that take unlike times go to whoever is free.
  const bool unlike = std::ranges::any_of(
      bounds_, [](const Bound& bound) { return bound.row != 0 || bound.column != 0; });
  const int cluster = program_.cluster;
  const std::int64_t clusters = unlike ? tiles_ : sms_for_clusters(goal, cluster) / cluster;
  program_.grid = std::clamp<std::int64_t>(clusters, 1, tiles_) * cluster;
  program_.comment = fmt::format(
      "{}{}: {} x {} tiles of the output, {} of k at a time, {} in shared memory at once. "
      "A thread copies tiles there, {} of 128 threads multiply them; each block does {}.{}",
      given.describe(), is_turned() ? ", transposed" : "", s.bm, s.bn, tile_k_, s.stages,
      s.bm == 64 ? "a group" : fmt::format("{} groups", s.bm / 64),
      program_.grid == tiles_ * cluster ? "one tile"
                                        : fmt::format("every {}th tile", program_.grid / cluster),
      (s.cluster == 1 ? "" : fmt::format(" {} blocks share their tiles of B.", s.cluster)) +
          (s.split_k == 1
               ? ""
               : fmt::format(" {} {} share each sum, {} of k each.", s.split_k,
                             s.share_by_cluster ? "blocks of a cluster" : "tiles", k_each_)));
}

tile::Program BulkBuilder::build() {
  program_.block = nodes_.new_symbol("block", program_.grid);
  program_.group = nodes_.new_symbol("group", s_.bm / 64);
  program_.sums = {{"sums", s_.bn}};
  if (adds_runs()) program_.sums.push_back({"runs", s_.bn});
  const auto tile_of = [&](const char* name, const Operand& operand, int rows, bool along_k) {
    return tile::SharedTile{name, operand.type,
                            tile::wgmma_operand(rows, tile_k_, along_k, operand.type)};
  };
  program_.views = {tiling_ ? view_of_patches() : *view_of(c_, c_.a, s_.bm),
                    *view_of(c_, c_.b, s_.bn / s_.cluster)};
  a_along_k_ = !tiling_ && strides_of(c_, c_.a)->other == 1;
  const bool b_along_k = strides_of(c_, c_.b)->other == 1;
  const tile::SharedTile tile_b = tile_of("tile_b", c_.b, s_.bn, b_along_k);
  if (tiling_) {
    program_.rings = {{"patches", kPatchStages, {patch()}}, {"tiles", s_.stages, {tile_b}}};
  } else {
    program_.rings = {{"tiles", s_.stages, {tile_of("tile_a", c_.a, s_.bm, a_along_k_), tile_b}}};
  }
  if (is_thrice(s_.pipe)) add_tf32_ring();
  // Copies round what products read from where they bring it.
  if (s_.pipe == Pipe::kBulkTf32)
    for (tile::View& view : program_.views) view.as_tf32 = true;
  if (reads_fragments()) {
    const int k = static_cast<int>(tile_k_);
    program_.fragments = {{"of_a", k, ScalarType::kF32}};
    if (is_thrice(s_.pipe)) {
      program_.fragments.push_back({"rest_of_a", k, ScalarType::kF32});
    } else if (tiling_ && tiling_->groups > 1) {
      program_.fragments.push_back({"next_of_a", k, ScalarType::kF32});
    }
  }
  stage_outputs();
  parameters();
  const auto [load_registers, math_registers] = registers();
  made_ring_ = b_ring() + 1;
  program_.roles = {{.name = "load",
                     .registers = load_registers,
                     .one_thread = true,
                     .body = {tiling_ ? load_patches() : load()}}};
  if (is_thrice(s_.pipe))
    program_.roles.push_back({.name = "split", .registers = kSplitRegisters, .body = {split()}});
  program_.roles.push_back(
      {.name = "math", .warp_groups = s_.bm / 64, .registers = math_registers, .body = {math()}});
  return std::move(program_);
}

std::pair<int, int> BulkBuilder::registers() const {
  const bool split = is_thrice(s_.pipe);
  const int groups = s_.bm / 64, all = groups + (split ? 2 : 1);
  const int each = tile::Limits().registers / (128 * all) / 8 * 8;
  if (groups == 1 && !split) return {0, 0};
  constexpr int kLoad = 24;
  const int others = kLoad + (split ? kSplitRegisters : 0);
  return {kLoad, std::min(240, (each * all - others) / groups / 8 * 8)};
}

bool BulkBuilder::reads_fragments() const {
  return is_bulk_tf32(s_.pipe) && (is_thrice(s_.pipe) || !a_along_k_);
}

void BulkBuilder::stage_outputs() {
  if (s_.share_by_cluster) {
    program_.stagings = {
        {s_.bm / 64, {"exchanged", ScalarType::kF32, tile::exchanged_sums(s_.bn)}}};
    program_.sums.push_back({"shared_sums", s_.bn / s_.split_k});
  }
  // Values that read the output's own buffer read it through a pointer.
  if (s_.split_k > 1) return;
  if (tiling_ && !in_runs() && s_.bn >= 32 && places_are_of_rows()) {
    // Outputs of neighbouring rows lie side by side.
    for (int columns = s_.bn; columns >= 32; columns /= 2) {
      const tile::Staging staging{s_.bm / 64,
                                  {"turned", ScalarType::kF32, tile::turned_outputs(columns)}};
      if (program_.shared_bytes() + staging.warp_groups * staging.tile.bytes() >
          shared_limit(goal_))
        continue;
      program_.stagings = {staging};
      return;
    }
  }
  if (tiling_ || (added_to_output(c_) == nullptr && reads(c_.value, c_))) return;
  const auto view = output_view(c_);
  for (int columns = s_.bn; view && columns >= 64; columns /= columns % 128 == 0 ? 2 : 3) {
    const tile::Staging staging{
        s_.bm / 64, {"staged", c_.nest->type, tile::staged_outputs(columns, c_.nest->type)}};
    if (program_.shared_bytes() + staging.warp_groups * staging.tile.bytes() > shared_limit(goal_))
      continue;
    program_.stagings = {staging};
    program_.views.push_back(*view);
    return;
  }
}

bool BulkBuilder::places_are_of_rows() const {
  return !c_.around || std::ranges::none_of(c_.around->places, [&](const tile::Place& place) {
    return place.begin->uses(c_.n);
  });
}

void BulkBuilder::parameters() {
  if (has_partial_sums()) {
    program_.parameters.push_back({partial(), c_.total_type, true});
    return;
  }
  program_.parameters = read_by(c_.values_of_store(), c_, goal_);
  if (!stores_by_copies()) program_.parameters.push_back({c_.nest->buffer, c_.nest->type, true});
}

bool BulkBuilder::stores_by_copies() const {
  return !program_.stagings.empty() && !tiling_ && !s_.share_by_cluster;
}

Place BulkBuilder::place(SymbolId tile, tile::Body& body, Needs needs) {
  const auto define = [&](const char* name, Ref value, std::int64_t extent) {
    const SymbolId symbol = nodes_.new_symbol(name, extent);
    body.push_back({tile::Define{symbol, value}});
    return symbol;
  };
  Place place;
  const std::int64_t of_batch = tiles_m_ * tiles_n_;
  Ref number_in = at(tile);
  if (s_.share_by_cluster) {
    if (needs == Needs::kCopies || !bounds_.empty())
      place.slice = define("slice", rank(), s_.split_k);
  } else if (s_.split_k > 1) {
    place.slice = define("slice", nodes_.divide(at(tile), number(of_slice_)), s_.split_k);
    const SymbolId in =
        define("in_slice", nodes_.remainder(at(tile), number(of_slice_)), of_slice_);
    number_in = at(in);
  }
  if (c_.batch_size > 1) {
    if (needs != Needs::kOnlyBounds)
      place.batch = define("batch_at", nodes_.divide(number_in, number(of_batch)), c_.batch_size);
    const SymbolId in = define("in_batch", nodes_.remainder(number_in, number(of_batch)), of_batch);
    number_in = at(in);
  }
  if (last_rows_first(bounds_)) number_in = nodes_.subtract(number(of_batch - 1), number_in);
  auto [row, column] = place_of_tile(nodes_, number_in, tiles_m_, tiles_n_, s_.group, body);
  const Ref first_of_cluster = nodes_.scale(row, s_.cluster * s_.bm);
  if (s_.cluster > 1) row = nodes_.add(nodes_.scale(row, s_.cluster), rank());
  const Ref first_column = nodes_.scale(column, s_.bn);
  if (tiling_ && needs == Needs::kCopies) {
    place.row_of_tiles = define("row_of_tiles", row, tiles_m_);
  } else if (needs != Needs::kOnlyBounds) {
    place.m_first = define("m_first", nodes_.scale(row, s_.bm), tiles_m_ * s_.cluster * s_.bm);
  }
  if (needs != Needs::kOnlyBounds)
    place.n_first = define("n_first", first_column, tiles_n_ * s_.bn);
  bound(place, first_of_cluster, first_column, body);
  return place;
}

void BulkBuilder::bound(Place& place, Ref first_row, Ref first_column, tile::Body& body) {
  place.k_begin = number(0);
  place.k_end = number(k_each_);
  if (bounds_.empty()) return;
  const auto least = [&](Ref x, Ref y) { return nodes_.op(Op::kMin, ScalarType::kI64, {x, y}); };
  const auto most = [&](Ref x, Ref y) { return nodes_.op(Op::kMax, ScalarType::kI64, {x, y}); };
  const auto [begin, end] =
      range_of_k(c_, bounds_, first_row, std::int64_t{s_.cluster} * s_.bm, first_column, s_.bn);
  // Where there is nothing one tile is multiplied all the same, of zeros or of what nobody needs.
  const Ref before = place.slice < 0 ? number(0) : nodes_.scale(at(place.slice), k_each_);
  const std::int64_t last_tile = (k_each_ - 1) / tile_k_ * tile_k_;
  const Ref tiles = nodes_.divide(most(nodes_.subtract(begin, before), number(0)), number(tile_k_));
  const SymbolId first = nodes_.new_symbol("k_begin", last_tile + 1);
  body.push_back({tile::Define{first, least(nodes_.scale(tiles, tile_k_), number(last_tile))}});
  place.k_begin = at(first);
  const SymbolId beyond = nodes_.new_symbol("k_end", last_tile + tile_k_ + 1);
  body.push_back({tile::Define{beyond, most(least(nodes_.subtract(end, before), number(k_each_)),
                                            nodes_.add(place.k_begin, number(tile_k_)))}});
  place.k_end = at(beyond);
}

tile::Operation BulkBuilder::over_tiles(SymbolId tile, tile::Body body) {
  const int cluster = program_.cluster;
  return {tile::Loop{tile, nodes_.divide(at(program_.block), number(cluster)), number(tiles_),
                     number(program_.grid / cluster), std::move(body), ""}};
}

tile::Loop BulkBuilder::over_k(const Place& place, SymbolId k, tile::Body body) {
  return {k, place.k_begin, place.k_end, number(tile_k_), std::move(body), ""};
}

void BulkBuilder::copies(bool is_a, const Place& place, SymbolId k, tile::Body& body) {
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

tile::Operation BulkBuilder::load() {
  const SymbolId tile = nodes_.new_symbol("tile", tiles_);
  const SymbolId k = nodes_.new_symbol("k_first", k_each_);
  tile::Body body;
  const Place where = place(tile, body, Needs::kCopies);
  tile::Body round = {{tile::Acquire{0}}};
  copies(true, where, k, round);
  copies(false, where, k, round);
  round.push_back({tile::Commit{0}});
  body.push_back({over_k(where, k, std::move(round))});
  return over_tiles(tile, std::move(body));
}

tile::Operation BulkBuilder::math() {
  const SymbolId tile = nodes_.new_symbol("tile", tiles_);
  const SymbolId k = nodes_.new_symbol("k_first", k_each_);
  tile::Body body;
  const Place where = place(tile, body);
  const Ref of_group = s_.bm == 64 ? number(0) : nodes_.scale(at(program_.group), 64);
  const Ref fresh = is_first(where, k);
  // Runs are added to sums that begin as 0: to choose, at each addition, whether a run is the first
  // one would be a second instruction for each sum.
  if (adds_runs())
    body.push_back({tile::MapSums{.sums = 0, .value = nodes_.number(0, ScalarType::kF32)}});
  if (tiling_) {
    body.push_back(multiply_patches(of_group));
  } else if (reads_fragments()) {
    body.push_back(is_thrice(s_.pipe) || !in_runs()
                       ? tile::Operation{over_k(where, k, tf32_round(where, k, of_group))}
                       : over_runs(where, k, of_group));
  } else if (in_runs()) {
    body.push_back(over_runs(where, k, of_group));
  } else if (in_short_runs()) {
    tile::Loop loop = over_k(where, k,
                             {{tile::Wait{0}},
                              {tile::Multiply{1, 0, 0, 1, of_group, nodes_.boolean(true)}},
                              {tile::Await{0}},
                              {tile::Release{0}},
                              {tile::AddRuns{0, 1, true}}});
    loop.comment = fmt::format(
        "The tensor cores' sums have 13 places: those of {} terms are added up in f32.", tile_k_);
    body.push_back({std::move(loop)});
  } else {
    body.push_back({over_k(where, k,
                           {{tile::Wait{0}},
                            {tile::Multiply{0, 0, 0, 1, of_group, fresh}},
                            {tile::Advance{0, fresh}}})});
    body.push_back({tile::Drain{0}});
  }
  if (s_.share_by_cluster)
    body.push_back({tile::ShareSums{0, static_cast<int>(program_.sums.size()) - 1, 0}});
  body.push_back({has_partial_sums() ? partial_store(where, of_group) : store(where, of_group)});
  return over_tiles(tile, std::move(body));
}

tile::Operation BulkBuilder::over_runs(const Place& place, SymbolId k, Ref of_group) {
  // At least a tile: a slice of k may be shorter.
  const std::int64_t length =
      tile_k_ * std::min<std::int64_t>(tiles_of_run(s_), ceil_divide(k_each_, tile_k_));
  const SymbolId run = nodes_.new_symbol("run", k_each_);
  Ref end = nodes_.add(at(run), number(length));
  if (k_each_ % length != 0 || !bounds_.empty())
    end = nodes_.op(Op::kMin, ScalarType::kI64, {end, place.k_end});
  const bool tf32 = reads_fragments();
  tile::Body round = {{tile::Wait{0}},
                      {tile::Multiply{1, 0, 0, 1, of_group, is_first(place, k)}},
                      {tile::Advance{0, nodes_.is_zero(nodes_.subtract(at(k), at(run)))}}};
  if (tf32) round = tf32_round(place, k, of_group);
  tile::Body body = {{tile::Loop{k, at(run), end, number(tile_k_), std::move(round), ""}}};
  if (!tf32) body.push_back({tile::Drain{0}});
  body.push_back({tile::AddRuns{0, 1}});
  return {tile::Loop{run, place.k_begin, place.k_end, number(length), std::move(body),
                     fmt::format("Terms are added in f32 in runs of {}.", length)}};
}

tile::Store BulkBuilder::store_at(const Place& where, Ref of_group) {
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

tile::Store BulkBuilder::store(const Place& where, Ref of_group) {
  tile::Store store = store_at(where, of_group);
  store.buffer = c_.nest->buffer;
  store.type = c_.nest->type;
  store.contiguous = c_.contiguous_n;
  nest::Nodes::Substitution batch;
  if (where.batch >= 0) batch[c_.batch] = at(where.batch);
  const Ref added = stores_by_copies() ? added_to_output(c_) : nullptr;
  store.adds = added != nullptr;
  store.value = nodes_.substitute(store.adds ? added : c_.value, batch);
  store.element = nodes_.substitute(c_.element, batch);
  store.guard = nodes_.substitute(c_.guard, batch);
  store.beside = inputs_beside(nodes_, store);
  add_places(c_, batch, store);
  if (s_.share_by_cluster) {
    store.sums = static_cast<int>(program_.sums.size()) - 1;
    store.column = nodes_.add(store.column, nodes_.scale(rank(), s_.bn / s_.split_k));
    return store;
  }
  if (program_.stagings.empty()) return store;
  store.staging = 0;
  if (!stores_by_copies()) return store;
  store.view = static_cast<int>(program_.views.size()) - 1;
  store.to = {store.row, store.column};
  if (program_.views.back().shape.size() == 3) store.to.insert(store.to.begin(), at(where.batch));
  return store;
}

tile::Store BulkBuilder::partial_store(const Place& where, Ref of_group) {
  tile::Store store = store_at(where, of_group);
  store.buffer = partial();
  store.type = c_.total_type;
  store.contiguous = !is_turned() && !tiling_ && c_.n_size % 2 == 0 ? 2 : 1;
  store.value = c_.sum;
  store.guard = tiling_ ? in_output_ : nodes_.boolean(true);
  Ref matrix = nodes_.scale(at(where.slice), c_.batch_size);
  if (where.batch >= 0) matrix = nodes_.add(matrix, at(where.batch));
  store.element = nodes_.add(
      nodes_.scale(nodes_.add(nodes_.scale(matrix, given_.m_size), at(given_.m)), given_.n_size),
      at(given_.n));
  if (tiling_) store.element = by_patches_(store.element);
  return store;
}

tile::Program bulk_program(const Contraction& c, const Schedule& s, const Goal& goal,
                           const std::string& prefix) {
  return BulkBuilder(c, s, goal, prefix).build();
}

Result<Generated> generate_bulk(const Contraction& c, const Schedule& s, const Goal& goal,
                                const std::string& prefix) {
  BulkBuilder builder(c, s, goal, prefix);
  auto generated = kernel_of(builder.build(), goal);
  if (!generated) return generated;
  for (const Packing& packing : builder.packings())
    add_packing(*c.nodes, packing, goal, prefix, *generated);
  add_finish(c, s, {}, goal, prefix, *generated);
  return generated;
}

}  // namespace hone::schedules::contract
