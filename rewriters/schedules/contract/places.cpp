#include "rewriters/schedules/contract/places.h"

#include <algorithm>
#include <cstdlib>

namespace hone::schedules::contract {

using nest::Node;

TilePlace place_of_tile(nest::Nodes& nodes, Ref number, std::int64_t rows, std::int64_t columns,
                        std::int64_t group, tile::Body& body) {
  group = std::min(group, rows);
  const Ref strip = nodes.integer(group * columns);
  const Ref first_row = nodes.scale(nodes.divide(number, strip), group);
  const Ref in_group = nodes.remainder(number, strip);
  Ref here = nodes.integer(group);
  if (rows % group != 0) {
    const SymbolId rows_here = nodes.new_symbol("rows_here", group + 1);
    body.push_back({tile::Define{
        rows_here, nodes.op(Op::kMin, ScalarType::kI64,
                            {here, nodes.subtract(nodes.integer(rows), first_row)})}});
    here = nodes.index(rows_here);
  }
  return {nodes.add(first_row, nodes.remainder(in_group, here)), nodes.divide(in_group, here)};
}

std::vector<Bound> bounds_of_tiles(const Contraction& c) {
  std::vector<Bound> bounds;
  for (const Bound& bound : c.bounds)
    if (bound.row != 0 || bound.column != 0 || bound.k != 0) bounds.push_back(bound);
  return bounds;
}

bool last_rows_first(const std::vector<Bound>& bounds) {
  return std::ranges::any_of(bounds,
                             [](const Bound& bound) { return bound.k < 0 && bound.row > 0; });
}

KRange range_of_k(const Contraction& c, const std::vector<Bound>& bounds, Ref first_row,
                  std::int64_t rows, Ref first_column, std::int64_t columns) {
  nest::Nodes& nodes = *c.nodes;
  const auto number = [&](std::int64_t value) { return nodes.integer(value); };
  const auto least = [&](Ref x, Ref y) { return nodes.op(Op::kMin, ScalarType::kI64, {x, y}); };
  const auto most = [&](Ref x, Ref y) { return nodes.op(Op::kMax, ScalarType::kI64, {x, y}); };
  const auto last = [&](Ref first, std::int64_t count, std::int64_t size) {
    return least(nodes.add(first, number(count - 1)), number(size - 1));
  };
  const Ref last_row = last(first_row, rows, c.m_size);
  const Ref last_column = last(first_column, columns, c.n_size);
  Ref begin = number(0), end = number(c.k_size);
  for (const Bound& bound : bounds) {
    // bound.k * k + reach >= 0 somewhere in the tile.
    const Ref reach = nodes.add(
        number(bound.constant),
        nodes.add(nodes.scale(bound.row > 0 ? last_row : first_row, bound.row),
                  nodes.scale(bound.column > 0 ? last_column : first_column, bound.column)));
    const std::int64_t step = std::abs(bound.k);
    if (step == 0) {
      end = nodes.select(nodes.non_negative(reach), end, number(0));
    } else if (bound.k < 0) {
      end = least(end, nodes.divide(most(nodes.add(reach, number(step)), number(0)), number(step)));
    } else {
      begin = most(begin, nodes.divide(most(nodes.subtract(number(step - 1), reach), number(0)),
                                       number(step)));
    }
  }
  return {begin, end};
}

void add_places(const Contraction& c, const nest::Nodes::Substitution& known, tile::Store& store) {
  if (!c.around) return;
  Contraction::Around around = *c.around;
  around.change([&](Ref value) { return c.nodes->substitute(value, known); });
  store.places = around.places;
  store.side_by_side = around.side_by_side;
  store.empty = around.empty;
  store.element = around.element;
  store.guard = around.guard;
}

std::vector<tile::Program::Parameter> read_by(const std::vector<Ref>& values, const Contraction& c,
                                              const Goal& goal) {
  std::vector<tile::Program::Parameter> parameters;
  for (const Ref value : values) {
    for_each(value, [&](Ref node) {
      if (node->kind != Node::Kind::kLoad || node == c.sum || node->name == c.nest->buffer ||
          std::ranges::find(parameters, node->name, &tile::Program::Parameter::buffer) !=
              parameters.end())
        return;
      parameters.push_back({node->name, goal.buffer(node->name)->type, false});
    });
  }
  return parameters;
}

}  // namespace hone::schedules::contract
