// Operands of convolutions, which copies bring in patches.
#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/contract/bulk_builder.h"

namespace hone::schedules::contract {

void BulkBuilder::arrange_in_patches() {
  const Patches& patches = *given_.patches;
  const SymbolId k = nodes_.new_symbol("k", tiling_->k_size());
  const SymbolId m = nodes_.new_symbol("m", tiling_->tiles() * s_.bm);
  const PatchDigits digits = digits_of_k(nodes_, patches, *tiling_, at(k));
  const nest::Nodes::Substitution of_k = {{c_.k, number_of(nodes_, patches.k, digits.digits)}};
  const Operand& weights = given_.bulk.as_f32->turned ? given_.a : given_.b;
  const Ref weight = nodes_.cast(nodes_.substitute(weights.value, of_k), ScalarType::kF32);
  packings_ = {
      {.name = "b",
       .value = nodes_.select(nodes_.both(digits.there, nodes_.substitute(weights.mask, of_k)),
                              weight, nodes_.number(0, ScalarType::kF32)),
       .batch = c_.batch,
       .line = c_.n,
       .inner = k,
       .lines = c_.n_size,
       .length = c_.k_size}};
  const PatchDigits rows = digits_of_row(nodes_, patches, *tiling_, at(m));
  // By digits that stay below their extents first: so no number is made of them and divided again.
  std::vector<Ref> named;
  nest::Nodes::Substitution of_names;
  for (std::size_t i = 0; i < patches.rows.size(); ++i) {
    const SymbolId name = nodes_.new_symbol("digit", patches.rows[i]);
    named.push_back(at(name));
    of_names[name] = rows.digits[i];
  }
  const nest::Nodes::Substitution of_m = {{c_.m, number_of(nodes_, patches.rows, named)}};
  by_patches_ = [this, of_m, of_names](Ref value) {
    return nodes_.substitute(nodes_.substitute(value, of_m), of_names);
  };
  c_.value = by_patches_(c_.value);
  c_.element = by_patches_(c_.element);
  c_.guard = nodes_.both(rows.there, by_patches_(c_.guard));
  if (c_.around) {
    c_.around->change(by_patches_);
    c_.around->guard = nodes_.both(rows.there, c_.around->guard);
  }
  in_output_ = rows.there;
  c_.m = c_.a.outer = m;
  c_.k = c_.a.k = k;
  c_.b.k = k;
  c_.b = packed_operand(nodes_, packings_[0], c_.b, prefix_);
}

tile::View BulkBuilder::view_of_patches() const {
  const Patches& patches = *given_.patches;
  tile::View view{.name = "map_a", .buffer = patches.buffer};
  for (const Patches::Dimension& one : patches.dimensions) {
    view.shape.push_back(one.extent);
    view.strides.push_back(one.stride);
    view.box.push_back(1);
  }
  view.strides.pop_back();
  const std::size_t rank = view.box.size();
  view.box[rank - 3] = tiling_->box_rows;
  view.box[rank - 2] = tiling_->channels;
  view.box[rank - 1] = tiling_->line;
  return view;
}

tile::SharedTile BulkBuilder::patch() const {
  const PatchTiling& t = *tiling_;
  return {"patch", ScalarType::kF32,
          tile::Layout({{{t.line, 1}, {t.box_rows, t.channels * t.line}}, {{t.channels, t.line}}})};
}

Ref BulkBuilder::step_at(const Place& place, SymbolId step) {
  const std::int64_t each = k_each_ / (tiling_->groups * tile_k_);
  return place.slice < 0 ? at(step) : nodes_.add(nodes_.scale(at(place.slice), each), at(step));
}

SymbolId BulkBuilder::new_step() {
  return nodes_.new_symbol("step", k_each_ / (tiling_->groups * tile_k_));
}

tile::Loop BulkBuilder::over(SymbolId symbol, tile::Body body) {
  return {symbol, number(0), number(nodes_.extent(symbol)), number(1), std::move(body), ""};
}

tile::Operation BulkBuilder::load_patches() {
  const SymbolId tile = nodes_.new_symbol("tile", tiles_), step = new_step(),
                 group = nodes_.new_symbol("group", tiling_->groups);
  tile::Body body;
  const Place where = place(tile, body, Needs::kCopies);
  const Ref here = step_at(where, step);
  tile::Body tiles = {
      {tile::Acquire{1}},
      {tile::BulkCopy{
          .ring = 1,
          .tile = 0,
          .view = 1,
          .from = {at(where.n_first), nodes_.add(nodes_.scale(here, tiling_->groups * tile_k_),
                                                 nodes_.scale(at(group), tile_k_))},
          .to = {0, 0}}},
      {tile::Commit{1}}};
  body.push_back(
      {over(step, {{tile::Acquire{0}},
                   {tile::BulkCopy{.ring = 0,
                                   .tile = 0,
                                   .view = 0,
                                   .from = place_of_box(nodes_, *given_.patches, *tiling_,
                                                        at(where.row_of_tiles), here),
                                   .to = {0, 0}}},
                   {tile::Commit{0}},
                   {over(group, std::move(tiles))}})});
  return over_tiles(tile, std::move(body));
}

tile::Operation BulkBuilder::multiply_patches(Ref of_group) {
  const SymbolId step = new_step();
  tile::Body body = {{tile::Wait{0}}};
  if (is_thrice(s_.pipe)) {
    const SymbolId group = nodes_.new_symbol("group", tiling_->groups);
    tile::Body round;
    read_group(at(group), of_group, 0, round);
    round.push_back({tile::Wait{1}});
    multiply_fragments(round, nodes_.is_zero(nodes_.add(at(step), at(group))), {});
    body.push_back({over(group, std::move(round))});
  } else {
    multiply_in_pairs(step, of_group, body);
  }
  body.push_back({tile::Release{0}});
  if (in_runs() && !is_thrice(s_.pipe)) body.push_back({tile::AddRuns{0, 1}});
  return {over(step, std::move(body))};
}

void BulkBuilder::multiply_in_pairs(SymbolId step, Ref of_group, tile::Body& body) {
  const std::int64_t groups = tiling_->groups, last = groups - 1;
  const auto round = [&](tile::Body& body, Ref group, int from, Ref next) {
    tile::Body meanwhile;
    if (next != nullptr) read_group(next, of_group, 1 - from, meanwhile);
    body.push_back({tile::Wait{1}});
    multiply_fragments(body, nodes_.is_zero(nodes_.add(at(step), group)), std::move(meanwhile),
                       from);
  };
  read_group(number(0), of_group, 0, body);
  if (groups > 1) {
    const SymbolId pair = nodes_.new_symbol("pair", groups / 2);
    const Ref first = nodes_.scale(at(pair), 2), second = nodes_.add(first, number(1));
    Ref third = nodes_.add(first, number(2));
    if (groups % 2 == 0) third = nodes_.op(Op::kMin, ScalarType::kI64, {third, number(last)});
    tile::Body rounds;
    round(rounds, first, 0, second);
    round(rounds, second, 1, third);
    body.push_back({over(pair, std::move(rounds))});
  }
  if (groups % 2 == 1) round(body, number(last), 0, nullptr);
}

void BulkBuilder::read_group(Ref group, Ref of_group, int fragments, tile::Body& body) {
  const PatchSteps steps = steps_in_box(*given_.patches, *tiling_);
  const std::int64_t places = tile_k_ / tiling_->channels;
  for (std::int64_t i = 0; i < places; ++i) {
    const PatchDigits place = place_in_box(nodes_, *given_.patches, *tiling_,
                                           nodes_.add(nodes_.scale(group, places), number(i)));
    body.push_back({tile::ReadPatch{.fragments = fragments,
                                    .rest = is_thrice(s_.pipe) ? fragments + 1 : -1,
                                    .ring = 0,
                                    .tile = 0,
                                    .first = static_cast<int>(i * tiling_->channels),
                                    .row = of_group,
                                    .from = place.digits[0],
                                    .there = place.there,
                                    .width = tiling_->width,
                                    .across = steps.across,
                                    .down = steps.down}});
  }
}

}  // namespace hone::schedules::contract
