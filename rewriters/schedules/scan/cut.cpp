// A few long rows, cut into parts.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/scan/plan.h"

namespace hone::schedules::scan {

std::int64_t parts_near(const Plan& plan, std::int64_t wanted) {
  for (const std::int64_t unit : {16, 4, 1}) {
    for (std::int64_t parts = wanted; parts >= 2 && parts >= wanted / 2; --parts) {
      if (plan.length % parts == 0 && plan.length / parts % unit == 0) return parts;
    }
  }
  return 1;
}

namespace {

std::int64_t blocks_of(const Plan& plan) { return plan.across ? (plan.rows + 31) / 32 : plan.rows; }

std::int64_t sms_of(const Goal& goal) { return std::max(1, goal.context->target.sm_count); }

}  // namespace

bool rows_leave_idle(const Goal& goal, const Plan& plan) {
  return blocks_of(plan) < sms_of(goal) && plan.length >= 16384;
}

std::int64_t first_parts(const Goal& goal, const Plan& plan) {
  if (!rows_leave_idle(goal, plan)) return 1;
  const std::int64_t sms = sms_of(goal), blocks = blocks_of(plan);
  const std::int64_t wanted = std::min(sms * 4 / blocks, plan.length / (plan.across ? 256 : 4096));
  return parts_near(plan, wanted);
}

CutPlan cut_rows(const Goal& goal, const Plan& plan, std::int64_t parts,
                 const std::string& prefix) {
  nest::Nodes& nodes = *goal.nodes;
  CutPlan cut;
  cut.plan = plan;
  Plan& own = cut.plan;
  const std::int64_t chunk = plan.length / parts;
  own.parts = parts;
  own.rows = plan.rows * parts;
  own.length = chunk;
  own.row = nodes.new_symbol("row", own.rows);
  own.column = nodes.new_symbol("col", chunk);
  own.part = nodes.new_symbol("part", parts);
  // Neighbours in memory are neighbouring rows still.
  const Ref row = nodes.index(own.row);
  const Ref whole_rows = nodes.integer(plan.rows), all_parts = nodes.integer(parts);
  const Ref of_row = plan.across ? nodes.remainder(row, whole_rows) : nodes.divide(row, all_parts);
  own.own_part = plan.across ? nodes.divide(row, whole_rows) : nodes.remainder(row, all_parts);
  const nest::Nodes::Substitution where = {
      {plan.row, of_row},
      {plan.column, nodes.add(nodes.scale(own.own_part, chunk), nodes.index(own.column))}};
  const auto moved = [&](Ref value) { return nodes.substitute(value, where); };
  const auto element = [&](Ref in_row) {
    const Ref part = nodes.index(own.part);
    return plan.across ? nodes.add(nodes.scale(part, plan.rows), in_row)
                       : nodes.add(nodes.scale(in_row, parts), part);
  };
  for (Running& one : own.running) {
    Names names;
    const Accumulator like(nodes, one.node, one.each, names);  // the carry, which takes it
    const ScalarType type = is_float(one.each->type) ? compute_type(one.each->type)
                            : like.type == "int"     ? ScalarType::kI32
                                                     : ScalarType::kI64;
    const std::string name = fmt::format(
        "{}part{}", prefix, cut.scratch.empty() ? "" : std::to_string(cut.scratch.size() + 1));
    cut.scratch.push_back({name, type, {plan.rows * parts}, Role::kScratch, {}});
    const SymbolId within = nodes.new_symbol("c", chunk);
    nest::Nest nest;
    nest.buffer = name;
    nest.type = type;
    nest.dims = plan.across ? std::vector{own.part, plan.row} : std::vector{plan.row, own.part};
    std::erase_if(nest.dims, [&](SymbolId symbol) { return nodes.extent(symbol) == 1; });
    nest.element = element(nodes.index(plan.row));
    nest.guard = nodes.boolean(true);
    const Ref at = nodes.add(nodes.scale(nodes.index(own.part), chunk), nodes.index(within));
    nest.value = nodes.reduce(one.op, {within}, nodes.substitute(one.each, {{plan.column, at}}));
    nest.covers = true;
    cut.folds.push_back(std::move(nest));
    one.before = nodes.load(name, type, element(of_row));
    one.node = nest::peel(moved(one.node));  // an integer comes back as a sum of itself
    one.each = moved(one.each);
  }
  for (LaneBody::Store& store : own.stores) {
    store.element = moved(store.element);
    store.value = moved(store.value);
    store.guard = moved(store.guard);
  }
  return cut;
}

}  // namespace hone::schedules::scan
