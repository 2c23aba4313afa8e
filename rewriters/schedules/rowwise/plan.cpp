#include "rewriters/schedules/rowwise/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "rewriters/affine/flatten.h"
#include "rewriters/affine/neighbours.h"
#include "rewriters/affine/strides.h"
#include "rewriters/schedules/nests.h"
#include "rewriters/schedules/printing/emit.h"

namespace hone::schedules::rowwise {
namespace {

using nest::Node;

class Planner {
 public:
  explicit Planner(const Goal& goal) : goal_(goal), nodes_(*goal.nodes) {}

  Result<Plan> plan() {
    std::vector<nest::Nest> nests;
    for (const nest::Nest& nest : goal_.nests) {
      auto one = plain(nodes_, nest);
      if (!one) return std::unexpected(one.error());
      nests.push_back(std::move(*one));
    }
    if (auto found = find_rows(nests); !found) return std::unexpected(found.error());
    plan_.row = nodes_.new_symbol("row", plan_.rows);
    for (const nest::Nest& nest : nests) {
      if (auto added = add(nest); !added) return std::unexpected(added.error());
    }
    if (plan_.reductions.empty()) return refused("no reduction");
    plan_.levels = 1;
    for (const Reduction& one : plan_.reductions) {
      plan_.levels = std::max(plan_.levels, one.level + 1);
    }
    for (const Output& one : plan_.outputs) {
      if (one.space >= 0) plan_.levels = std::max(plan_.levels, one.level + 1);
    }
    decide_direction();
    return std::move(plan_);
  }

 private:
  /// The dims of the nest that its reductions depend on.
  static std::vector<SymbolId> row_dims(const nest::Nest& nest) {
    std::set<SymbolId> used;
    for (const Ref node : reductions_of(nest.value)) {
      used.insert(node->free.begin(), node->free.end());
    }
    std::vector<SymbolId> rows;
    for (const SymbolId symbol : nest.dims) {
      if (used.contains(symbol)) rows.push_back(symbol);
    }
    return rows;
  }

  bool some_load_is_of_one_row(const nest::Nest& nest, const std::vector<SymbolId>& dims) {
    for (const Ref node : reductions_of(nest.value)) {
      for (const Ref load : nest::loads_in(node)) {
        if (std::ranges::all_of(dims, [&](SymbolId dim) {
              return nodes_.extent(dim) == 1 || load->args[0]->uses(dim);
            })) {
          return true;
        }
      }
    }
    return false;
  }

  Result<void> find_rows(const std::vector<nest::Nest>& nests) {
    bool known = false;
    for (const nest::Nest& nest : nests) {
      if (reductions_of(nest.value).empty()) continue;
      const std::vector<SymbolId> dims = row_dims(nest);
      const std::int64_t rows = points(nodes_, dims);
      if (rows > 1 && !some_load_is_of_one_row(nest, dims)) {
        return refused("every element is read by many rows: a product, a prefix, or the like");
      }
      if (known && rows != plan_.rows) {
        return refused(
            fmt::format("reductions of {} rows and of {} in one kernel", plan_.rows, rows));
      }
      plan_.rows = rows;
      known = true;
    }
    if (!known) return refused("no reduction");
    if (plan_.rows > INT32_MAX) return refused("more rows than an int counts");
    return {};
  }

  int space_of(std::int64_t length) {
    for (std::size_t i = 0; i < plan_.spaces.size(); ++i) {
      if (plan_.spaces[i].length == length) return static_cast<int>(i);
    }
    plan_.spaces.push_back({length, nodes_.new_symbol("col", length)});
    return static_cast<int>(plan_.spaces.size() - 1);
  }

  Result<void> add(const nest::Nest& nest) {
    std::vector<SymbolId> rows = row_dims(nest), columns;
    if (reductions_of(nest.value).empty()) {
      // Leading dims that number as many points.
      std::int64_t product = 1;
      for (const SymbolId symbol : nest.dims) {
        if (product == plan_.rows) break;
        product *= nodes_.extent(symbol);
        rows.push_back(symbol);
      }
      if (product != plan_.rows) {
        return refused("a nest without reductions has other rows");
      }
    }
    for (const SymbolId symbol : nest.dims) {
      if (std::ranges::find(rows, symbol) == rows.end()) columns.push_back(symbol);
    }
    const auto over_rows = [&](Ref value) { return flatten(nodes_, value, rows, plan_.row); };
    Output output{nest.buffer, nest.type, over_rows(nest.element), over_rows(nest.value),
                  over_rows(nest.guard)};
    if (output.element->has_load) return refused("a scattered store");
    if (!output.guard->is_constant() && !all_in_range(goal_, output.value)) {
      return refused("a guard keeps loads inside their buffers");
    }
    for (const Ref node : reductions_of(output.value)) {
      auto level = add_reduction(node);
      if (!level) return std::unexpected(level.error());
      output.level = std::max(output.level, *level + 1);
    }
    const std::int64_t length = points(nodes_, columns);
    if (!columns.empty()) {
      if (length > INT32_MAX / 2)
        return refused("a row of more than 2^30 elements, or of a length that comes from data");
      output.space = space_of(length);
      const SymbolId column = plan_.spaces[static_cast<std::size_t>(output.space)].column;
      for (Ref* part : {&output.element, &output.value, &output.guard}) {
        *part = flatten(nodes_, *part, columns, column);
      }
    }
    plan_.outputs.push_back(output);
    return {};
  }

  /// Gives the level of the loop that makes it.
  Result<int> add_reduction(Ref node) {
    for (const Reduction& one : plan_.reductions) {
      if (one.node == node) return one.level;
    }
    nest::Nodes::Opened opened = nodes_.open(node);
    int level = 0;
    for (const Ref inner : reductions_of(opened.body)) {
      for (const SymbolId symbol : opened.symbols) {
        if (inner->uses(symbol)) {
          return refused("a reduction inside another depends on its index");
        }
      }
      auto before = add_reduction(inner);
      if (!before) return before;
      level = std::max(level, *before + 1);
    }
    const std::int64_t length = points(nodes_, opened.symbols);
    if (length > INT32_MAX / 2)
      return refused("a row of more than 2^30 elements, or of a length that comes from data");
    const bool numbered = node->op == Op::kArgMax || node->op == Op::kArgMin;
    if (!numbered) sort_by_widest_load(opened.symbols, opened.body);
    const int space = space_of(length);
    const SymbolId column = plan_.spaces[static_cast<std::size_t>(space)].column;
    plan_.reductions.push_back(
        {node, flatten(nodes_, opened.body, opened.symbols, column), space, level});
    return level;
  }

  /// Which of row and column moves by one element in most of what is read.
  void decide_direction() {
    std::int64_t along = 0, across = 0;
    Neighbours rows(nodes_, plan_.row, 1);
    for (int space = 0; space < static_cast<int>(plan_.spaces.size()); ++space) {
      Neighbours columns(nodes_, plan_.spaces[static_cast<std::size_t>(space)].column, 1);
      for (const Stream& stream : streams_of(goal_, plan_, space)) {
        if (!stream.load->uses(plan_.row)) continue;
        if (columns.step(stream.load->args[0]) == 1) {
          ++along;
        } else if (rows.step(stream.load->args[0]) == 1) {
          ++across;
        }
      }
    }
    plan_.across = across > along;
  }

  const Goal& goal_;
  nest::Nodes& nodes_;
  Plan plan_;
};

}  // namespace

std::vector<Ref> Plan::roots(int level, int space) const {
  std::vector<Ref> values;
  for (const Reduction& one : reductions) {
    if (one.level == level && one.space == space) values.push_back(one.body);
  }
  for (const Output& one : outputs) {
    if (one.level == level && one.space == space) values.push_back(one.value);
  }
  return values;
}

bool Plan::has_loop(int level, int space) const { return !roots(level, space).empty(); }

Result<Plan> plan_rows(const Goal& goal) { return Planner(goal).plan(); }

std::vector<Stream> streams_of(const Goal& goal, const Plan& plan, int space) {
  std::vector<Stream> streams;
  const Printer nothing_known(*goal.nodes);
  const SymbolId column = plan.spaces[static_cast<std::size_t>(space)].column;
  for (int level = 0; level < plan.levels; ++level) {
    for (const Use& use : uses_of(nothing_known, plan.roots(level, space))) {
      if (use.value->kind != Node::Kind::kLoad || !use.value->uses(column)) continue;
      auto place = std::ranges::find_if(
          streams, [&](const Stream& stream) { return stream.load == use.value; });
      if (place == streams.end()) {
        const bool certain = use.certain || in_range(goal, use.value);
        place = streams.insert(place, Stream{use.value, {}, certain});
      }
      place->levels.push_back(level);
    }
  }
  return streams;
}

}  // namespace hone::schedules::rowwise
