// Products of f32 as tf32: fragments, what a role makes of a tile, and what threads read.
#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/generators/contract/bulk_builder.h"
#include "rewriters/tile/operands.h"

namespace hone::generators::contract {

void BulkBuilder::add_tf32_ring() {
  const tile::Layout layout = tile::wgmma_operand(s_.bn, tile_k_, true, ScalarType::kF32);
  std::vector<tile::SharedTile> tiles;
  if (is_gathered(s_.pipe)) tiles.push_back({"big_b", ScalarType::kF32, layout});
  if (is_thrice(s_.pipe)) tiles.push_back({"rest_of_b", ScalarType::kF32, layout});
  program_.rings.push_back({"made", is_gathered(s_.pipe) ? s_.stages : kMadeStages, tiles});
}

void BulkBuilder::name_elements() {
  using Order = tile::Elements::Order;
  const int k = static_cast<int>(tile_k_);
  program_.elements = {{"next_of_a", 64, k, Order::kFragments},
                       {"next_of_b", s_.bn, k, c_.b.along_k ? Order::kAlongK : Order::kAlongRows}};
}

tile::Operation BulkBuilder::gather_of(int elements, const Operand& operand, const Place& where,
                                       Ref first, Ref k, std::int64_t size) {
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
  const Ref there = nodes_.both(nodes_.both(nodes_.less(row, number(size)), nodes_.less(of_k, end)),
                                nodes_.substitute(operand.mask, places));
  const Ref value = nodes_.cast(nodes_.substitute(operand.value, places), ScalarType::kF32);
  gather.value = nodes_.select(there, value, nodes_.number(0, ScalarType::kF32));
  return {std::move(gather)};
}

tile::Operation BulkBuilder::gather_a(const Place& where, Ref k, Ref of_group) {
  return gather_of(0, c_.a, where, nodes_.add(at(where.m_first), of_group), k, c_.m_size);
}

tile::Operation BulkBuilder::gather_b(const Place& where, Ref k) {
  return gather_of(1, c_.b, where, at(where.n_first), k, c_.n_size);
}

tile::Operation BulkBuilder::gather() {
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

tile::Operation BulkBuilder::split() {
  return over_tiles(nodes_.new_symbol("tile", tiles_),
                    {{over_k(nodes_.new_symbol("k_first", k_each_),
                             {{tile::Wait{b_ring()}},
                              {tile::Acquire{made_ring_}},
                              {tile::SplitTile{b_ring(), tiling_ ? 0 : 1, made_ring_, 0}},
                              {tile::Commit{made_ring_}},
                              {tile::Release{b_ring()}}})}});
}

tile::Body BulkBuilder::tf32_round(const Place& where, SymbolId k, Ref of_group) {
  const Ref fresh = nodes_.is_zero(at(k));
  const bool gathered = is_gathered(s_.pipe), thrice = is_thrice(s_.pipe);
  tile::Body body, meanwhile;
  if (gathered) {
    body.push_back({tile::RoundElements{0, 0, thrice ? 1 : -1}});
    // The next elements are on their way while the tensor cores are at these.
    meanwhile.push_back(gather_a(where, nodes_.add(at(k), number(tile_k_)), of_group));
  } else {
    body.push_back({tile::Wait{0}});
    body.push_back({tile::ReadFragments{0, thrice ? 1 : -1, 0, 0, of_group, !makes_b()}});
  }
  multiply_fragments(body, fresh, std::move(meanwhile));
  return body;
}

void BulkBuilder::multiply_fragments(tile::Body& body, Ref fresh, tile::Body meanwhile, int from) {
  const bool thrice = is_thrice(s_.pipe), itself = !is_gathered(s_.pipe);
  const int sums = thrice || in_runs() ? 1 : 0, big_tile = tiling_ ? 0 : 1;
  if (makes_b()) body.push_back({tile::Wait{made_ring_}});
  const int big_ring = itself ? b_ring() : made_ring_, big = itself ? big_tile : 0;
  if (thrice) {
    const Ref begins = in_runs() ? fresh : nodes_.boolean(true);
    body.push_back({tile::Multiply{sums, big_ring, 0, big, nullptr, begins, -1, from + 1}});
    body.push_back(
        {tile::Multiply{sums, made_ring_, 0, itself ? 0 : 1, nullptr, nullptr, -1, from}});
  }
  body.push_back(
      {tile::Multiply{sums, big_ring, 0, big, nullptr, thrice ? nullptr : fresh, -1, from}});
  std::ranges::move(meanwhile, std::back_inserter(body));
  body.push_back({tile::Await{0}});
  if (itself) body.push_back({tile::Release{b_ring()}});
  if (makes_b()) body.push_back({tile::Release{made_ring_}});
  if (thrice) body.push_back({tile::AddRuns{0, 1, fresh, !in_runs()}});
}

}  // namespace hone::generators::contract
