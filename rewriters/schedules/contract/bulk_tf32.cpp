// Products of f32 as tf32: fragments, and what a role makes of a tile.
#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/contract/bulk_builder.h"
#include "rewriters/tile/operands.h"

namespace hone::schedules::contract {

void BulkBuilder::add_tf32_ring() {
  const tile::Layout layout = tile::wgmma_operand(s_.bn, tile_k_, true, ScalarType::kF32);
  program_.rings.push_back({"made", kMadeStages, {{"rest_of_b", ScalarType::kF32, layout}}});
}

tile::Operation BulkBuilder::split() {
  const SymbolId tile = nodes_.new_symbol("tile", tiles_);
  tile::Body body;
  Place where{.k_begin = number(0), .k_end = number(k_each_)};
  if (!bounds_.empty()) where = place(tile, body, Needs::kOnlyBounds);
  body.push_back({over_k(where, nodes_.new_symbol("k_first", k_each_),
                         {{tile::Wait{b_ring()}},
                          {tile::Acquire{made_ring_}},
                          {tile::SplitTile{b_ring(), tiling_ ? 0 : 1, made_ring_, 0}},
                          {tile::Commit{made_ring_}},
                          {tile::Release{b_ring()}}})});
  return over_tiles(tile, std::move(body));
}

tile::Body BulkBuilder::tf32_round(const Place& place, SymbolId k, Ref of_group) {
  const bool thrice = is_thrice(s_.pipe);
  tile::Body body = {{tile::Wait{0}},
                     {tile::ReadFragments{0, thrice ? 1 : -1, 0, 0, of_group, !thrice}}};
  multiply_fragments(body, is_first(place, k));
  return body;
}

void BulkBuilder::multiply_fragments(tile::Body& body, Ref fresh, tile::Body meanwhile, int from) {
  const bool thrice = is_thrice(s_.pipe);
  const int sums = thrice || in_runs() ? 1 : 0, ring = b_ring(), big = tiling_ ? 0 : 1;
  if (thrice) {
    body.push_back({tile::Wait{made_ring_}});
    const Ref begins = in_runs() ? fresh : nodes_.boolean(true);
    body.push_back({tile::Multiply{sums, ring, 0, big, nullptr, begins, -1, from + 1}});
    body.push_back({tile::Multiply{sums, made_ring_, 0, 0, nullptr, nullptr, -1, from}});
  }
  body.push_back({tile::Multiply{sums, ring, 0, big, nullptr, thrice ? nullptr : fresh, -1, from}});
  std::ranges::move(meanwhile, std::back_inserter(body));
  body.push_back({tile::Await{0}});
  body.push_back({tile::Release{ring}});
  if (!thrice) return;
  body.push_back({tile::Release{made_ring_}});
  body.push_back({tile::AddRuns{0, 1, !in_runs()}});
}

}  // namespace hone::schedules::contract
