#include "rewriters/schedules/map/plan.h"

#include <algorithm>

#include "rewriters/affine/flatten.h"
#include "rewriters/affine/strides.h"

namespace hone::schedules::map {

Result<std::vector<Points>> plan_map(const Goal& goal, const std::vector<nest::Nest>& nests) {
  nest::Nodes& nodes = *goal.nodes;
  std::vector<Points> all;
  for (const nest::Nest& given : nests) {
    auto nest = plain(nodes, given);
    if (!nest) return std::unexpected(nest.error());
    if (nest->value->height > 0 || nest->guard->height > 0 || nest->element->height > 0) {
      return refused("a reduction");
    }
    const std::int64_t count = points(nodes, nest->dims);
    auto place = std::ranges::find_if(all, [&](const Points& one) { return one.count == count; });
    if (place == all.end()) {
      place = all.insert(place, {count, nodes.new_symbol("point", count), {}});
    }
    const auto over = [&](Ref value) { return flatten(nodes, value, nest->dims, place->index); };
    place->stores.push_back(
        {nest->buffer, nest->type, over(nest->element), over(nest->value), over(nest->guard)});
  }
  return all;
}

namespace {

Points moved(nest::Nodes& nodes, const Points& points, std::int64_t count, std::int64_t first) {
  Points result;
  result.count = count;
  result.index = nodes.new_symbol("point", count);
  const nest::Nodes::Substitution where = {
      {points.index, nodes.add(nodes.index(result.index), nodes.integer(first))}};
  for (const LaneBody::Store& store : points.stores) {
    const Ref guard = nodes.substitute(store.guard, where);
    if (guard->is_constant() && guard->constant == 0) continue;  // none of these points writes
    result.stores.push_back({store.buffer, store.type, nodes.substitute(store.element, where),
                             nodes.substitute(store.value, where), guard});
  }
  return result;
}

}  // namespace

Points without_tail(nest::Nodes& nodes, const Points& points, int width) {
  const std::int64_t tail = points.count % width;
  return tail == 0 ? points : moved(nodes, points, points.count - tail, 0);
}

Points tail_of(nest::Nodes& nodes, const Points& points, int width) {
  const std::int64_t tail = points.count % width;
  return moved(nodes, points, tail, points.count - tail);
}

int widest(const Goal& goal, const Points& points) {
  for (int width = 16; width > 1; width /= 2) {
    if (points.count < 2 * width) continue;
    const Points whole = without_tail(*goal.nodes, points, width);
    if (widest_vector(goal, whole.index, values_of(whole.stores), elements_of(whole.stores),
                      width) == width) {
      return width;
    }
  }
  return 1;
}

Schedule first_guess(const Goal& goal, const Points& points) {
  Schedule schedule;
  schedule.width = widest(goal, points);
  // 32 bytes read by each thread, where there are points for every thread of the device.
  std::size_t bytes = 0;
  for (const Ref value : values_of(points.stores)) {
    for (const Ref load : loads_of(value)) bytes += size_of(load->type);
  }
  const std::int64_t each = static_cast<std::int64_t>(bytes) * schedule.width;
  const std::int64_t everyone = std::int64_t{goal.context->target.sm_count} * 2048;
  while (schedule.items < 4 && each * schedule.items < 32 &&
         points.count / schedule.width / (schedule.items * 2) >= 2 * everyone) {
    schedule.items *= 2;
  }
  if (points.count / schedule.width < everyone / 4) schedule.threads = 128;
  return schedule;
}

}  // namespace hone::schedules::map
