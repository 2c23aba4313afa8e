#include "rewriters/schedules/histogram/plan.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "rewriters/affine/flatten.h"
#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"
#include "rewriters/schedules/products.h"

namespace hone::schedules::histogram {
namespace {

using nest::Node;

bool has_atomics(const nest::Nest& nest) {
  switch (nest.type) {
    case ScalarType::kF32:
    case ScalarType::kF64:
      return nest.combine == Op::kAdd;
    case ScalarType::kI32:
    case ScalarType::kU32:
    case ScalarType::kI64:
      return nest.combine != Op::kMul;
    default:
      return false;
  }
}

Result<void> check(const Goal& goal, const nest::Nest& nest) {
  if (!nest.combine) return refused("a store that is no accumulation");
  if (!has_atomics(nest)) {
    return refused("no atomic operation of that kind and type");
  }
  for (const Ref part : {nest.element, nest.value, nest.guard}) {
    if (part->height > 0) return refused("a reduction in what is scattered");
    for (const Ref load : loads_of(part)) {
      for (const nest::Nest& other : goal.nests) {
        if (load->name == other.buffer) {
          return refused("reads what it accumulates into");
        }
      }
    }
  }
  return {};
}

/// The dims, those outermost that move least in memory: by their strides in the address that
/// depends on most of them.
std::vector<SymbolId> ordered(const nest::Nest& nest) {
  std::vector<Ref> addresses = {nest.element};
  for (const Ref part : {nest.element, nest.value, nest.guard}) {
    for (const Ref load : loads_of(part)) addresses.push_back(load->args[0]);
  }
  const auto direct = [&](Ref address) {
    return std::ranges::count_if(nest.dims,
                                 [&](SymbolId symbol) { return stride_of(address, symbol) != 0; });
  };
  const Ref by = *std::ranges::max_element(addresses, {}, direct);
  std::vector<SymbolId> dims = nest.dims;
  std::ranges::stable_sort(dims, [&](SymbolId a, SymbolId b) {
    const auto reach = [&](SymbolId symbol) {
      const std::int64_t stride = std::abs(stride_of(by, symbol));
      return stride == 0 ? INT64_MAX : stride;
    };
    return reach(a) > reach(b);
  });
  return dims;
}

/// Dims that choose a window of the buffer: their strides in the element, largest first, are larger
/// than every step of what is inside.
std::vector<SymbolId> row_candidates(const nest::Nest& nest) {
  std::vector<SymbolId> dims;
  std::int64_t inside = 0;  // the largest step of what is read
  for (const nest::Term& term : nest.element->terms) {
    if (term.atom->kind == Node::Kind::kIndex && term.coefficient > 0) {
      dims.push_back(term.atom->symbol);
    } else {
      inside = std::max(inside, std::abs(term.coefficient));
    }
  }
  const auto stride = [&](SymbolId symbol) { return stride_of(nest.element, symbol); };
  std::erase_if(
      dims, [&](SymbolId symbol) { return stride(symbol) <= std::max<std::int64_t>(inside, 1); });
  std::ranges::stable_sort(dims, std::greater<>(), stride);
  return dims;
}

bool within(nest::Nodes& nodes, Ref slot, std::int64_t slots, Ref guard) {
  const auto all = nodes.range(slot);
  if (all && all->low >= 0 && all->high < slots) return true;
  nest::Facts facts;
  facts.add(guard);
  return facts.prove(nodes,
                     nodes.both(nodes.non_negative(slot), nodes.less(slot, nodes.integer(slots))));
}

/// Casts to unsigned that change nothing where the guard holds left out.
Ref without_casts(nest::Nodes& nodes, Ref element, Ref guard) {
  nest::Facts facts;
  facts.add(guard);
  return nodes.replace(element, [&](Ref node) -> Ref {
    if (!node->is(Op::kCast) || node->type != ScalarType::kU32) return nullptr;
    const Ref inside = node->args[0];
    const bool same = inside->type != ScalarType::kI64 && !is_float(inside->type) &&
                      facts.prove(nodes, nodes.non_negative(inside));
    return same ? inside : nullptr;
  });
}

/// The dim around the innermost becomes walks of up to `most` steps, as many as divide it: of the
/// dims, which walk it is, and in the group, which step.
void cut_walks(nest::Nodes& nodes, nest::Nest& nest, std::vector<SymbolId>& dims, std::int64_t most,
               Group& group) {
  if (dims.size() < 2) return;
  SymbolId& dim = dims[dims.size() - 2];
  std::int64_t steps = 1;
  while (steps * 2 <= most && nodes.extent(dim) % (steps * 2) == 0) steps *= 2;
  if (steps == 1) return;
  const SymbolId walk = nodes.new_symbol("walk", nodes.extent(dim) / steps);
  group.steps = steps;
  group.step = nodes.new_symbol("step", steps);
  const Ref whole = nodes.add(nodes.scale(nodes.index(walk), steps), nodes.index(group.step));
  for (Ref* value : {&nest.element, &nest.value, &nest.guard}) {
    *value = nodes.substitute(*value, {{dim, whole}});
  }
  dim = walk;
}

/// A nest over rows and points of its own.
Group group_of(const Goal& goal, nest::Nest nest, int row_dims, std::int64_t walk) {
  nest::Nodes& nodes = *goal.nodes;
  std::vector<SymbolId> rows = row_candidates(nest);
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(row_dims)));
  std::vector<SymbolId> inner = ordered(nest);
  std::erase_if(inner,
                [&](SymbolId symbol) { return std::ranges::find(rows, symbol) != rows.end(); });
  Group group;
  if (walk > 1) cut_walks(nodes, nest, inner, walk, group);
  group.rows = points(nodes, rows);
  group.count = points(nodes, inner);
  group.row = nodes.new_symbol("row", group.rows);
  group.point = nodes.new_symbol("point", group.count);

  Ref first = nodes.integer(0);
  for (const SymbolId symbol : rows) {
    first = nodes.add(first, nodes.scale(nodes.index(symbol), stride_of(nest.element, symbol)));
  }
  const ConcreteBuffer* buffer = buffer_of(goal, nest.buffer);
  Scatter scatter{nest.buffer, nest.type, *nest.combine};
  scatter.huge = buffer != nullptr && buffer->elements() > INT32_MAX;
  scatter.slots = rows.empty() ? (buffer != nullptr ? buffer->elements() : 0)
                               : stride_of(nest.element, rows.back());
  scatter.sure = within(nodes, nodes.subtract(nest.element, first), scatter.slots, nest.guard);
  const auto over = [&](Ref value) {
    value = flatten(nodes, value, inner, group.point);
    return rows.empty() ? value : flatten(nodes, value, rows, group.row);
  };
  scatter.first = over(first);
  scatter.slot = over(nodes.subtract(nest.element, first));
  scatter.value = over(nest.value);
  scatter.guard = over(nest.guard);
  group.scatters.push_back(std::move(scatter));
  return group;
}

/// `one` among the groups: with one of as many rows and points, where there is such.
void put(nest::Nodes& nodes, std::vector<Group>& groups, Group one) {
  const auto place = std::ranges::find_if(groups, [&](const Group& group) {
    return group.rows == one.rows && group.count == one.count;
  });
  if (place == groups.end()) {
    groups.push_back(std::move(one));
    return;
  }
  const nest::Nodes::Substitution same = {{one.row, nodes.index(place->row)},
                                          {one.point, nodes.index(place->point)}};
  for (Scatter& scatter : one.scatters) {
    for (Ref* value : {&scatter.first, &scatter.slot, &scatter.value, &scatter.guard}) {
      *value = nodes.substitute(*value, same);
    }
    place->scatters.push_back(std::move(scatter));
  }
}

Group moved(nest::Nodes& nodes, const Group& group, std::int64_t count, std::int64_t first) {
  Group result = group;
  result.count = count;
  result.point = nodes.new_symbol("point", count);
  const nest::Nodes::Substitution where = {
      {group.point, nodes.add(nodes.index(result.point), nodes.integer(first))}};
  for (Scatter& scatter : result.scatters) {
    for (Ref* value : {&scatter.slot, &scatter.value, &scatter.guard}) {
      *value = nodes.substitute(*value, where);
    }
  }
  return result;
}

}  // namespace

std::int64_t Group::table_bytes(std::int64_t parts) const {
  std::int64_t bytes = 0;
  for (const Scatter& scatter : scatters) {
    bytes += ceil_divide(scatter.slots, parts) * static_cast<std::int64_t>(size_of(scatter.type));
  }
  return bytes;
}

bool Group::counts() const {
  return std::ranges::all_of(scatters, [](const Scatter& scatter) {
    return scatter.combine == Op::kAdd &&
           (scatter.value->is_constant() || scatter.value->kind == Node::Kind::kFloat);
  });
}

std::vector<Ref> Group::values(nest::Nodes& nodes) const {
  std::vector<Ref> all;
  for (const Scatter& scatter : scatters) {
    for (const Ref value : {scatter.slot, scatter.value}) {
      const Ref nothing = is_float(value->type) ? nodes.number(0, value->type) : nodes.integer(0);
      all.push_back(nodes.select(scatter.guard, value, nothing));
    }
  }
  return all;
}

int most_row_dims(const Goal& goal) {
  std::size_t most = 0;
  for (const nest::Nest& nest : goal.nests) {
    most = std::max(most, row_candidates(nest).size());
  }
  return static_cast<int>(most);
}

Result<std::vector<Group>> plan_scatters(const Goal& goal, int row_dims, std::int64_t walk) {
  bool any = false;
  std::vector<Group> groups;
  std::set<std::string> buffers;
  for (nest::Nest nest : goal.nests) {
    if (auto fine = check(goal, nest); !fine) return std::unexpected(fine.error());
    if (!buffers.insert(nest.buffer).second) {
      for (const nest::Nest& other : goal.nests) {
        if (other.buffer == nest.buffer && other.combine != nest.combine) {
          return refused("two kinds of accumulation into one buffer");
        }
      }
    }
    any = any || !plain(*goal.nodes, nest).has_value();
    std::erase_if(nest.dims, [&](SymbolId symbol) { return goal.nodes->extent(symbol) == 1; });
    nest.element = without_casts(*goal.nodes, nest.element, nest.guard);
    put(*goal.nodes, groups, group_of(goal, nest, row_dims, goal.nests.size() == 1 ? walk : 1));
  }
  if (!any) return refused("every element is a plain function of indices");
  return groups;
}

Group without_tail(nest::Nodes& nodes, const Group& group, std::int64_t unit) {
  const std::int64_t tail = group.count % unit;
  return tail == 0 ? group : moved(nodes, group, group.count - tail, 0);
}

Group tail_of(nest::Nodes& nodes, const Group& group, std::int64_t unit) {
  const std::int64_t tail = group.count % unit;
  return moved(nodes, group, tail, group.count - tail);
}

}  // namespace hone::schedules::histogram
