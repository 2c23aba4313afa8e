#include "rewriters/rules/cooperative/split_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace hone::rules::coop {

using syntax::Access;
using syntax::KernelInfo;
using syntax::Loop;
using syntax::Polynomial;
using syntax::Stmt;
using syntax::Variable;
using Node = syntax::Expr;

bool repeats(const Stmt& stmt) {
  for (const Stmt* parent = stmt.parent; parent; parent = parent->parent) {
    switch (parent->kind) {
      case Stmt::Kind::kFor:
      case Stmt::Kind::kWhile:
      case Stmt::Kind::kDo:
        return true;
      default:
        break;
    }
  }
  return false;
}

namespace {

bool writes_memory(const Access& access) { return access.kind != Access::Kind::kRead; }

bool reads_memory(const Access& access) {
  return access.kind == Access::Kind::kRead || access.kind == Access::Kind::kReadWrite;
}

bool is_local_array(const Access& access) {
  return access.base && access.base->storage == Variable::Storage::kLocal &&
         !access.base->type.is_pointer();
}

// The counter's value is not looked at outside the loops that count with it.
bool counter_stays_inside(const KernelInfo& info, const Variable& counter) {
  for (const Node* expr : info.function->all_expressions) {
    if (expr->kind != Node::Kind::kVariable || expr->variable != &counter) continue;
    const bool counted = std::any_of(info.loops.begin(), info.loops.end(), [&](const auto& loop) {
      return loop->variable == &counter && inside(expr->statement, *loop->statement);
    });
    if (!counted) return false;
  }
  return !counter.address_taken;
}

// Does every iteration of `loop` touch its own elements through this index? True when the index is
// c * k + rest and the rest stays within |c| while the inner loops run.
bool own_elements(const KernelInfo& info, const Loop& loop, const Polynomial& index,
                  const Bindings& sizes) {
  const auto values = symbol_values(info, sizes);
  const Polynomial known = at_sizes(index, values);
  const auto coefficient = known.coefficient(syntax::symbol_of(*loop.variable));
  const auto stride = coefficient ? coefficient->as_constant() : std::nullopt;
  if (!stride || *stride == 0) return false;
  std::int64_t spread = 0;
  std::set<std::string> inner_counters;
  for (const auto& inner : info.loops) {
    if (inner.get() == &loop || !inside(inner->statement, *loop.statement)) continue;
    const std::string symbol = syntax::symbol_of(*inner->variable);
    inner_counters.insert(symbol);
    if (!known.uses(symbol)) continue;
    const auto per_step = known.coefficient(symbol);
    const auto factor = per_step ? per_step->as_constant() : std::nullopt;
    const auto trips = info.trip_count(*inner, sizes);
    if (!factor || !trips || !inner->step) return false;
    spread += std::abs(*factor) * *inner->step * std::max<std::int64_t>(*trips - 1, 0);
  }
  // Any other local that the body changes makes the rest unknown.
  const auto effects = syntax::effects_of(*loop.statement);
  for (const Variable* written : effects.writes) {
    const std::string symbol = syntax::symbol_of(*written);
    if (written != loop.variable && !inner_counters.contains(symbol) && known.uses(symbol)) {
      return false;
    }
  }
  for (const Variable* local : info.function->locals) {
    const std::string symbol = syntax::symbol_of(*local);
    if (local != loop.variable && !inner_counters.contains(symbol) &&
        declared_inside(*local, *loop.statement) && known.uses(symbol)) {
      return false;
    }
  }
  return spread < std::abs(*stride) * loop.step.value_or(1);
}

class Planner {
 public:
  Planner(const Parsed& parsed, const KernelInfo& info, const Bindings& sizes)
      : parsed_(parsed), info_(info), sizes_(sizes) {}

  Result<SplitPlan> plan(bool innermost);

 private:
  Result<SplitLoop> classify(const Loop& loop) const;
  Result<bool> independent_writes(const Loop& loop) const;
  Result<SplitPlan> finish(SplitPlan plan) const;
  bool is_read_elsewhere(const Access& write) const;
  bool has_child(const Loop& loop) const {
    return std::any_of(info_.loops.begin(), info_.loops.end(),
                       [&](const auto& other) { return other->parent == &loop; });
  }

  const Parsed& parsed_;
  const KernelInfo& info_;
  const Bindings& sizes_;
};

Result<bool> Planner::independent_writes(const Loop& loop) const {
  bool writes = false;
  for (const Access& write : info_.accesses) {
    if (!writes_memory(write) || !inside(write.statement, *loop.statement)) continue;
    if (is_local_array(write)) {
      if (!declared_inside(*write.base, *loop.statement)) {
        return refused(fmt::format("the loop fills the array `{}`", write.base->name));
      }
      continue;
    }
    writes = true;
    const Place place = place_of(write);
    if (write.kind == Access::Kind::kAtomic) {
      if (write.expr->parent || write.statement->kind != Stmt::Kind::kExpression) {
        return refused("the result of an atomic operation is used");
      }
    } else {
      if (!place.root || !place.index) return refused("the loop stores to an unknown place");
      if (!own_elements(info_, loop, *place.index, sizes_)) {
        return refused("two iterations may store to the same place");
      }
    }
    for (const Access& other : info_.accesses) {
      if (&other == &write || !inside(other.statement, *loop.statement)) continue;
      if (write.kind == Access::Kind::kAtomic && other.kind == Access::Kind::kAtomic) continue;
      const Place touched = place_of(other);
      if (!may_overlap(info_, place, touched)) continue;
      const bool same = place.root == touched.root && touched.index && place.index &&
                        *touched.index == *place.index;
      if (!same) return refused("an iteration may touch what another one stores");
    }
  }
  return writes;
}

Result<SplitLoop> Planner::classify(const Loop& loop) const {
  if (!loop.lower || !loop.upper || (!loop.step && !loop.step_expr)) {
    return refused("the loop's bounds are not plain");
  }
  if (!loop.step && info_.varies_by_thread(*loop.lower)) {
    return refused("the loop is already spread over the threads");
  }
  if (!counter_stays_inside(info_, *loop.variable)) {
    return refused("the loop counter is used after the loop");
  }
  const auto effects = syntax::effects_of(*loop.statement);
  if (effects.unknown || effects.synchronises || effects.may_exit) {
    return refused("the loop does what cannot be shared between lanes");
  }
  std::set<const Variable*> counters;
  for (const auto& inner : info_.loops) {
    if (inside(inner->statement, *loop.statement) &&
        counter_stays_inside(info_, *inner->variable)) {
      counters.insert(inner->variable);
    }
  }
  auto accumulators = find_accumulators(*parsed_.unit, loop, counters);
  if (!accumulators) return std::unexpected(accumulators.error());
  // What the scan for assignments may have missed (references, members) shows in the effects.
  for (const Variable* written : effects.writes) {
    const bool known = declared_inside(*written, *loop.statement) || counters.contains(written) ||
                       !written->statement ||
                       std::any_of(accumulators->begin(), accumulators->end(),
                                   [&](const auto& a) { return a.variable == written; });
    if (!known && written->type.kind != syntax::Type::Kind::kArray) {
      return refused(fmt::format("`{}` is carried from one iteration to the next", written->name));
    }
  }
  auto writes = independent_writes(loop);
  if (!writes) return std::unexpected(writes.error());
  if (accumulators->empty() && !*writes) return refused("the loop leaves nothing behind");
  SplitLoop split;
  split.loop = &loop;
  split.accumulators = std::move(*accumulators);
  split.writes = *writes;
  return split;
}

bool Planner::is_read_elsewhere(const Access& write) const {
  const Place place = place_of(write);
  return std::any_of(info_.accesses.begin(), info_.accesses.end(), [&](const Access& other) {
    return &other != &write && other.expr != write.expr && reads_memory(other) &&
           !is_local_array(other) && may_overlap(info_, place, place_of(other));
  });
}

Result<SplitPlan> Planner::plan(bool innermost) {
  if (info_.has_barrier || info_.has_warp_ops || info_.has_shared || info_.has_unknown) {
    return refused("the threads of the kernel already work together, or it does unknown things");
  }
  if (helpers_see_threads(*parsed_.unit)) return refused("a helper function looks at threadIdx");
  SplitPlan plan;
  Error reason{ErrorCode::kRefused, "the kernel has no loop that lanes could share"};
  for (const auto& loop : info_.loops) {
    const bool covered = std::any_of(plan.loops.begin(), plan.loops.end(), [&](const auto& chosen) {
      return inside(loop->statement, *chosen.loop->statement);
    });
    if (covered || (innermost && has_child(*loop))) continue;
    auto split = classify(*loop);
    if (!split) {
      reason = split.error();
      continue;
    }
    const bool worth_less = !innermost && has_child(*loop) && info_.varies_by_thread(*loop->lower);
    if (worth_less) continue;
    plan.loops.push_back(std::move(*split));
  }
  if (plan.loops.empty()) return std::unexpected(reason);
  return finish(std::move(plan));
}

Result<SplitPlan> Planner::finish(SplitPlan plan) const {
  bool reduces = false;
  for (SplitLoop& split : plan.loops) {
    for (const Accumulator& a : split.accumulators) {
      reduces = true;
      plan.reassociates |= a.needs_reassociation();
    }
    for (const Access& access : info_.accesses) {
      if (!writes_memory(access) || is_local_array(access) ||
          !inside(access.statement, *split.loop->statement)) {
        continue;
      }
      split.fenced |= is_read_elsewhere(access);
      const bool float_atomic = access.kind == Access::Kind::kAtomic;
      plan.reassociates |= float_atomic;
    }
  }
  if (!reduces) return refused("no loop reduces anything");
  for (const Access& access : info_.accesses) {
    if (!writes_memory(access) || is_local_array(access)) continue;
    const bool shared_out = std::any_of(plan.loops.begin(), plan.loops.end(), [&](const auto& s) {
      return inside(access.statement, *s.loop->statement);
    });
    if (shared_out) continue;
    const Stmt* stmt = access.statement;
    const bool header =
        stmt->parent && stmt->parent->kind == Stmt::Kind::kFor && stmt->parent->init == stmt;
    const Node* top = stmt->kind == Stmt::Kind::kExpression ? strip_implicit(stmt->expr) : nullptr;
    const bool plain = top && !header && top->range.valid() &&
                       (top == access.expr ||
                        ((top->kind == Node::Kind::kAssign || top->kind == Node::Kind::kUnary) &&
                         strip_implicit(top->operands[0]) == access.expr));
    if (!plain) return refused("a store is part of a larger expression");
    // The value must not change variables on the side: only one lane will compute it.
    bool side_effects = false;
    for_each_expr(top, [&](const Node& part) {
      if (&part == top) return;
      side_effects |= part.kind == Node::Kind::kAssign;
      side_effects |=
          part.kind == Node::Kind::kUnary &&
          (part.text.find("++") != std::string::npos || part.text.find("--") != std::string::npos);
    });
    if (side_effects) return refused("a store has side effects");
    plan.stores.push_back({stmt, is_read_elsewhere(access)});
  }
  return plan;
}

}  // namespace

Result<SplitPlan> plan_split(const Parsed& parsed, const KernelInfo& info, const Bindings& sizes,
                             bool innermost) {
  return Planner(parsed, info, sizes).plan(innermost);
}

}  // namespace hone::rules::coop
