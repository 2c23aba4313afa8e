#include "rewriters/schedules/histogram/stage.h"

#include <fmt/format.h>

#include "rewriters/affine/strides.h"
#include "rewriters/schedules/nests.h"

namespace hone::schedules::histogram {
namespace {

/// The nest's value at every point of its box, side by side.
void stage(const Goal& goal, const std::string& name, nest::Nest& nest, Staged& staged) {
  nest::Nodes& nodes = *goal.nodes;
  nest::Nest first = nest;
  first.buffer = name;
  first.element = nodes.integer(0);
  for (const SymbolId symbol : nest.dims) {
    first.element =
        nodes.add(nodes.scale(first.element, nodes.extent(symbol)), nodes.index(symbol));
  }
  first.guard = nodes.boolean(true);
  first.combine.reset();
  first.covers = true;
  const std::int64_t count = points(nodes, nest.dims);
  const Ref value = nodes.load(name, nest.type, first.element);
  nest.value = is_float(nest.type) ? value : nodes.add(value, nodes.integer(0));
  staged.scratch.push_back({name, nest.type, {count}, Role::kScratch, {}});
  staged.first.push_back(std::move(first));
}

}  // namespace

Goal Staged::rest(const Goal& goal) const {
  Goal rest = goal;
  rest.nests = scatters;
  rest.concrete = &concrete;
  return rest;
}

Result<Staged> stage_values(const Goal& goal, const std::string& prefix) {
  Staged staged;
  staged.scatters = goal.nests;
  for (std::size_t i = 0; i < staged.scatters.size(); ++i) {
    nest::Nest& nest = staged.scatters[i];
    if (nest.value->height == 0 || !nest.combine) continue;
    if (!nest.guard->is_constant() && !all_in_range(goal, nest.value)) {
      return refused("a reduction that is read under its guard alone");
    }
    stage(goal, fmt::format("{}values{}", prefix, i == 0 ? "" : std::to_string(i + 1)), nest,
          staged);
  }
  staged.concrete.buffers = goal.concrete->buffers;
  for (const ConcreteBuffer& buffer : staged.scratch) staged.concrete.buffers.push_back(buffer);
  return staged;
}

}  // namespace hone::schedules::histogram
