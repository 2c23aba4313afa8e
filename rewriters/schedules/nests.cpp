#include "rewriters/schedules/nests.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "rewriters/affine/strides.h"
#include "rewriters/schedules/printing/print_value.h"

namespace hone::schedules {

using nest::Node;

namespace {

/// Every node below, each once; `into_reductions`: their bodies too, as they are.
void visit_all(Ref root, bool into_reductions, const std::function<void(Ref)>& meet) {
  std::unordered_set<Ref> seen;
  const std::function<void(Ref)> visit = [&](Ref node) {
    if (!seen.insert(node).second) return;
    meet(node);
    if (node->kind == Node::Kind::kReduce && !into_reductions) return;
    for (const Ref arg : node->args) visit(arg);
    for (const nest::Term& term : node->terms) visit(term.atom);
  };
  visit(root);
}

}  // namespace

const ConcreteBuffer* buffer_of(const Goal& goal, std::string_view name) {
  for (const ConcreteBuffer& buffer : goal.concrete->buffers) {
    if (buffer.name == name) return &buffer;
  }
  return nullptr;
}

Result<nest::Nest> plain(nest::Nodes& nodes, const nest::Nest& nest) {
  nest::Nest result = nest;
  std::erase_if(result.dims, [&](SymbolId symbol) { return nodes.extent(symbol) == 1; });
  if (!nest.combine) return result;
  if (nest.element->has_load) {
    return refused("the element of an accumulation is read from data");
  }
  std::vector<SymbolId> folded;
  for (const SymbolId symbol : result.dims) {
    if (!nest.element->uses(symbol)) folded.push_back(symbol);
  }
  std::erase_if(result.dims, [&](SymbolId symbol) { return !nest.element->uses(symbol); });
  // Different at every point: mixed radix, each stride beyond what the smaller ones reach.
  std::vector<std::pair<std::int64_t, std::int64_t>> strides;
  for (const SymbolId symbol : result.dims) {
    strides.emplace_back(std::abs(stride_of(nest.element, symbol)), nodes.extent(symbol));
  }
  std::ranges::sort(strides);
  std::int64_t reach = 0;
  for (const auto& [stride, extent] : strides) {
    if (stride <= reach) {
      return refused("points of an accumulation share elements");
    }
    reach += stride * (extent - 1);
  }
  Ref value = nest.value;
  if (!nest.guard->is_constant()) {
    value = nodes.select(nest.guard, value, nodes.identity(*nest.combine, value->type));
    result.guard = nodes.boolean(true);
  }
  if (!folded.empty()) value = nodes.reduce(*nest.combine, folded, value);
  const Ref before = nodes.load(nest.buffer, nest.type, nest.element);
  result.value =
      nodes.op(*nest.combine, is_float(nest.type) ? nest.type : ScalarType::kI64, {before, value});
  result.combine.reset();
  return result;
}

std::vector<Ref> reductions_of(Ref value) {
  std::vector<Ref> found;
  visit_all(value, false, [&](Ref node) {
    if (node->kind == Node::Kind::kReduce) found.push_back(node);
  });
  return found;
}

std::vector<Ref> loads_of(Ref value) {
  std::vector<Ref> found;
  visit_all(value, false, [&](Ref node) {
    if (node->kind == Node::Kind::kLoad) found.push_back(node);
  });
  return found;
}

namespace {

bool load_in_range(nest::Nodes& nodes, const Goal& goal, Ref load) {
  const ConcreteBuffer* buffer = buffer_of(goal, load->name);
  const auto all = nodes.range(load->args[0]);
  return buffer != nullptr && all && all->low >= 0 && all->high < buffer->elements();
}

}  // namespace

bool in_range(const Goal& goal, Ref load) { return load_in_range(*goal.nodes, goal, load); }

bool all_in_range(const Goal& goal, Ref value) {
  bool all = true;
  visit_all(value, true, [&](Ref node) {
    if (node->kind == Node::Kind::kLoad) all = all && load_in_range(*goal.nodes, goal, node);
  });
  return all;
}

void sort_by_widest_load(std::vector<SymbolId>& symbols, Ref body) {
  Ref widest = nullptr;
  std::size_t most = 0;
  for (const Ref load : loads_of(body)) {
    std::size_t count = 0;
    for (const SymbolId symbol : symbols) count += stride_of(load->args[0], symbol) != 0 ? 1 : 0;
    if (count > most) {
      most = count;
      widest = load;
    }
  }
  sort_by_stride(symbols, widest == nullptr ? nullptr : widest->args[0]);
}

Buffer scratch_of(const ConcreteBuffer& buffer) {
  Buffer scratch;
  scratch.name = buffer.name;
  scratch.type = buffer.type;
  for (const std::int64_t size : buffer.shape) scratch.shape.emplace_back(size);
  scratch.role = Role::kScratch;
  return scratch;
}

void Parameters::add(const std::string& buffer, ScalarType type, bool written) {
  const auto place =
      std::ranges::find_if(all_, [&](const One& one) { return one.buffer == buffer; });
  if (place != all_.end()) {
    place->written |= written;
    return;
  }
  const ConcreteBuffer* known = buffer_of(*goal_, buffer);
  all_.push_back({buffer, known != nullptr ? known->type : type, written});
}

void Parameters::read_all(Ref value) {
  visit_all(value, true, [&](Ref node) {
    if (node->kind == Node::Kind::kLoad) add(node->name, node->type, false);
  });
}

std::vector<std::string> Parameters::texts() const {
  std::vector<std::string> texts;
  for (const One& one : all_) {
    texts.push_back(fmt::format("{}{}* __restrict__ {}", one.written ? "" : "const ",
                                type_name(one.type), one.buffer));
  }
  return texts;
}

std::vector<std::string> Parameters::args() const {
  std::vector<std::string> names;
  for (const One& one : all_) names.push_back(one.buffer);
  return names;
}

void Parameters::add_launch(GeneratedLaunch launch, Generated& generated) const {
  launch.args = args();
  generated.launches.push_back(std::move(launch));
  std::vector<ScalarType> types;
  for (const One& one : all_) types.push_back(one.type);
  for (const std::string& header : headers_for(types)) {
    if (std::ranges::find(generated.includes, header) == generated.includes.end())
      generated.includes.push_back(header);
  }
}

}  // namespace hone::schedules
