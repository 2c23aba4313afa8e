#include "rewriters/schedules/window/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "rewriters/affine/flatten.h"
#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"

namespace hone::schedules::window {
namespace {

using nest::Node;

constexpr std::int64_t kMostPoints = 128;  // of a window
constexpr std::int64_t kMostSpan = 40;     // registers for what neighbours share

class Planner {
 public:
  Planner(const Goal& goal, int width, int along)
      : goal_(goal), nodes_(*goal.nodes), width_(width), along_(along) {}

  Result<Plan> plan() {
    for (const nest::Nest& given : goal_.nests) {
      auto nest = plain(nodes_, given);
      if (!nest) return std::unexpected(nest.error());
      if (auto added = add(*nest); !added) return std::unexpected(added.error());
    }
    if (plan_.folds.empty()) return refused("no reduction over a window");
    for (Fold& fold : plan_.folds) find_shared(fold);
    return std::move(plan_);
  }

 private:
  Result<void> add(const nest::Nest& nest) {
    if (nest.dims.empty()) return refused("a single output");
    if (nest.element->has_load) return refused("a scattered store");
    // By stride in the output, the smallest last.
    std::vector<SymbolId> outer = nest.dims;
    std::ranges::stable_sort(outer, std::greater<>{}, [&](SymbolId symbol) {
      return std::abs(stride_of(nest.element, symbol));
    });
    if (static_cast<std::size_t>(along_) >= outer.size()) {
      return refused("fewer dims than that");
    }
    const auto column = outer.end() - 1 - along_;
    const SymbolId inner = *column;
    outer.erase(column);
    const std::int64_t columns = nodes_.extent(inner);
    const std::int64_t rows = points(nodes_, nest.dims) / columns;
    if (plan_.row < 0) {
      plan_.rows = rows;
      plan_.columns = columns;
      plan_.padded = ceil_divide(columns, width_) * width_;
      plan_.row = nodes_.new_symbol("row", rows);
      plan_.column = nodes_.new_symbol("col", plan_.padded);
    } else if (rows != plan_.rows || columns != plan_.columns) {
      return refused("outputs of several shapes");
    }
    if (rows > INT32_MAX / 2 || rows * plan_.padded > INT32_MAX * std::int64_t{64}) {
      return refused("more outputs than an int counts");
    }
    const auto over = [&](Ref value) {
      return nodes_.substitute(flatten(nodes_, value, outer, plan_.row),
                               {{inner, nodes_.index(plan_.column)}});
    };
    const Ref value = over(nest.value);
    for (const Ref node : reductions_of(value)) {
      if (auto added = add_reduction(node); !added) return std::unexpected(added.error());
    }
    Ref guard = over(nest.guard);
    if (plan_.padded != plan_.columns) {
      guard = nodes_.both(guard,
                          nodes_.less(nodes_.index(plan_.column), nodes_.integer(plan_.columns)));
    }
    plan_.stores.push_back({nest.buffer, nest.type, over(nest.element), value, guard});
    if (!nest.guard->is_constant() && !all_in_range(goal_, nest.value)) {
      return refused("a guard keeps loads inside their buffers");
    }
    return {};
  }

  Result<void> add_reduction(Ref node) {
    const nest::Nodes::Opened opened = nodes_.open(node);
    const std::int64_t count = points(nodes_, opened.symbols);
    if (count > kMostPoints) {
      return refused(fmt::format("a window of {} points", count));
    }
    if (opened.body->height > 0) return refused("a reduction inside another");
    plan_.window = std::max(plan_.window, count);
    const Ref body = inside_buffers(opened.body);
    for (Fold& fold : plan_.folds) {
      if (std::ranges::find(fold.nodes, node) != fold.nodes.end()) return {};
      const std::vector<SymbolId>& own = fold.window;
      const bool same = std::ranges::equal(own, opened.symbols, [&](SymbolId a, SymbolId b) {
        return nodes_.extent(a) == nodes_.extent(b);
      });
      if (!same) continue;
      nest::Nodes::Substitution rename;
      for (std::size_t i = 0; i < own.size(); ++i) {
        rename[opened.symbols[i]] = nodes_.index(own[i]);
      }
      fold.nodes.push_back(node);
      fold.bodies.push_back(nodes_.substitute(body, rename));
      return {};
    }
    Fold fold;
    fold.nodes = {node};
    fold.bodies = {body};
    fold.window = opened.symbols;
    fold.inner = partner(body, fold.window);
    plan_.folds.push_back(std::move(fold));
    return {};
  }

  /// How far a step of the column is in steps of a window index; 0: no whole number of times.
  [[nodiscard]] std::int64_t stride_in(Ref body, SymbolId index) const {
    std::int64_t stride = 0;
    for (const Ref load : loads_of(body)) {
      const std::int64_t of_index = stride_of(load->args[0], index);
      const std::int64_t of_column = stride_of(load->args[0], plan_.column);
      if (of_index != 0 && of_column % of_index == 0 && of_column / of_index > 0) {
        stride = of_column / of_index;
      }
    }
    return stride;
  }

  /// The window index that runs along the column: -1: none.
  SymbolId partner(Ref body, const std::vector<SymbolId>& window) {
    SymbolId best = -1;
    std::int64_t smallest = 0;
    for (const SymbolId index : window) {
      const std::int64_t stride = stride_in(body, index);
      if (stride == 0 || stride > nodes_.extent(index)) continue;
      if (best < 0 || stride < smallest) {
        best = index;
        smallest = stride;
      }
    }
    plan_.overlaps |= best >= 0 && smallest < nodes_.extent(best);
    return best;
  }

  /// Columns beyond the last read where their elements would be: not outside of the buffer.
  Ref inside_buffers(Ref body) {
    if (plan_.padded == plan_.columns) return body;
    return nodes_.replace(body, [&](Ref node) -> Ref {
      if (node->kind != Node::Kind::kLoad || !node->uses(plan_.column)) return nullptr;
      const ConcreteBuffer* buffer = buffer_of(goal_, node->name);
      if (buffer == nullptr || node->args[0]->has_load) return nullptr;
      const Ref below = nodes_.less(node->args[0], nodes_.integer(buffer->elements()));
      if (below->is_constant()) return node;
      const Ref nothing = is_float(node->type) ? nodes_.number(0, node->type) : nodes_.integer(0);
      return nodes_.select(below, node, nothing);
    });
  }

  /// value(column + v, inner) = value(column, stride * v + inner), if so.
  std::optional<Shared> shifted(Ref value, SymbolId inner, std::int64_t stride) {
    const std::int64_t extent = nodes_.extent(inner);
    if (stride > extent) return std::nullopt;  // neighbours share nothing
    Shared shared;
    shared.value = value;
    shared.stride = stride;
    shared.span = (width_ - 1) * stride + extent;
    if (shared.span > kMostSpan) return std::nullopt;
    shared.offset = nodes_.new_symbol("u", shared.span);
    shared.at_offset = nodes_.substitute(value, {{inner, nodes_.index(shared.offset)}});
    const Ref v = nodes_.index(lane_);
    const Ref moved =
        nodes_.substitute(value, {{plan_.column, nodes_.add(nodes_.index(plan_.column), v)}});
    const Ref expected = nodes_.substitute(
        shared.at_offset,
        {{shared.offset, nodes_.add(nodes_.scale(v, stride), nodes_.index(inner))}});
    return moved == expected ? std::optional(shared) : std::nullopt;
  }

  void find_shared(Fold& fold) {
    if (width_ == 1 || fold.inner < 0) return;
    lane_ = nodes_.new_symbol("v", width_);
    for (std::size_t i = 0; i < fold.bodies.size(); ++i) {
      const std::int64_t stride = stride_in(fold.bodies[i], fold.inner);
      if (stride == 0) continue;
      // From the top: a select moves whole, with the guard of its load.
      fold.bodies[i] = nodes_.replace(fold.bodies[i], [&](Ref node) -> Ref {
        if (!node->has_load) return node;
        if (!node->uses(fold.inner) || !node->uses(plan_.column)) return nullptr;
        if (node->kind == Node::Kind::kSum) return nullptr;
        if (node->is(Op::kSelect) && !is_float(node->type)) return nullptr;
        const auto known = std::ranges::find(fold.shared, node, &Shared::value);
        if (known != fold.shared.end()) return node;
        if (auto shared = shifted(node, fold.inner, stride)) {
          fold.shared.push_back(*shared);
          return node;
        }
        if (!node->is(Op::kSelect) || node->args[2]->kind != Node::Kind::kFloat) return nullptr;
        return guarded_parts(fold, node, stride);
      });
    }
  }

  /// select(inside, x * w, 0) as select(inside, select(inside, x, 0) * w, 0), the inner one shared.
  Ref guarded_parts(Fold& fold, Ref choice, std::int64_t stride) {
    const Ref inside = choice->args[0];
    const Ref then = nodes_.replace(choice->args[1], [&](Ref node) -> Ref {
      if (!node->has_load) return node;
      if (node->kind != Node::Kind::kLoad || !node->uses(plan_.column)) return nullptr;
      if (!is_float(node->type)) return nullptr;
      const Ref guarded = nodes_.select(inside, node, nodes_.number(0, node->type));
      if (std::ranges::find(fold.shared, guarded, &Shared::value) != fold.shared.end()) {
        return guarded;
      }
      if (auto shared = shifted(guarded, fold.inner, stride)) {
        fold.shared.push_back(*shared);
        return guarded;
      }
      return node;
    });
    return nodes_.select(inside, then, choice->args[2]);
  }

  const Goal& goal_;
  nest::Nodes& nodes_;
  int width_, along_;
  Plan plan_;
  SymbolId lane_ = -1;
};

}  // namespace

Result<Plan> plan_window(const Goal& goal, int width, int along) {
  return Planner(goal, width, along).plan();
}

}  // namespace hone::schedules::window
