#include "rewriters/schedules/transpose/plan.h"

#include <algorithm>

#include "rewriters/affine/flatten.h"
#include "rewriters/affine/neighbours.h"
#include "rewriters/affine/strides.h"

namespace hone::schedules::transpose {

using nest::Node;

Result<Plan> plan_transpose(const Goal& goal, const nest::Nest& given) {
  nest::Nodes& nodes = *goal.nodes;
  auto nest = plain(nodes, given);
  if (!nest) return std::unexpected(nest.error());
  if (nest->value->height > 0) return refused("a reduction");
  if (nest->element->has_load) return refused("a scattered store");

  // Dims that follow each other everywhere are one.
  Plan plan;
  plan.store = {nest->buffer, nest->type, nest->element, nest->value, nest->guard};
  std::vector<SymbolId> dims = nest->dims;
  merge_dims(nodes, {&plan.store.element, &plan.store.value, &plan.store.guard}, dims);

  const auto stored = std::ranges::find_if(
      dims, [&](SymbolId dim) { return stride_of(plan.store.element, dim) == 1; });
  if (stored == dims.end()) return refused("stores of no neighbours");
  plan.stored = *stored;
  const Printer nothing_known(nodes);
  std::vector<Ref> roots = {plan.store.value};
  for (const Use& use : uses_of(nothing_known, roots)) {
    const Ref load = use.value;
    if (load->kind != Node::Kind::kLoad || load->args[0]->has_load) continue;
    const bool always = plan.store.guard->is_constant() && use.certain;
    if (!always && !in_range(goal, load)) continue;
    if (std::abs(stride_of(load->args[0], plan.stored)) == 1) continue;
    if (!load->uses(plan.stored)) continue;
    const auto unit = std::ranges::find_if(
        dims, [&](SymbolId dim) { return std::abs(stride_of(load->args[0], dim)) == 1; });
    if (unit == dims.end() || (plan.loaded >= 0 && *unit != plan.loaded)) continue;
    plan.loaded = *unit;
    plan.turned.push_back(load);
  }
  if (plan.turned.empty()) return refused("loads run along the stores' dim");
  if (nodes.extent(plan.stored) < 4 || nodes.extent(plan.loaded) < 4) {
    return refused("a dim too short for tiles");
  }
  std::erase(dims, plan.stored);
  std::erase(dims, plan.loaded);
  plan.batches = points(nodes, dims);
  plan.batch = nodes.new_symbol("batch", plan.batches);
  const auto over = [&](Ref value) { return flatten(nodes, value, dims, plan.batch); };
  plan.store.element = over(plan.store.element);
  plan.store.value = over(plan.store.value);
  plan.store.guard = over(plan.store.guard);
  for (Ref& load : plan.turned) load = over(load);
  return plan;
}

int widest_block(const Goal& goal, const Plan& plan, int most) {
  if (!plan.store.guard->is_constant()) return 1;
  nest::Nodes& nodes = *goal.nodes;
  std::size_t largest = size_of(plan.store.type);
  for (const Ref load : plan.turned) largest = std::max(largest, size_of(load->type));
  int best = 1;
  for (int width = 2; width <= most; width *= 2) {
    if (static_cast<std::size_t>(width) * largest > 16) break;
    if (nodes.extent(plan.stored) % width != 0 || nodes.extent(plan.loaded) % width != 0) break;
    Neighbours along_stores(nodes, plan.stored, width), along_loads(nodes, plan.loaded, width);
    if (!along_stores.contiguous(plan.store.element)) break;
    if (!std::ranges::all_of(plan.turned,
                             [&](Ref load) { return along_loads.contiguous(load->args[0]); })) {
      break;
    }
    best = width;
  }
  return best;
}

}  // namespace hone::schedules::transpose
