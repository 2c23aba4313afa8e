// What stays of a row between the loops over it.
#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/cluster.h"
#include "rewriters/schedules/rowwise/print.h"

namespace hone::schedules::rowwise {
namespace {

using nest::Node;

/// Dearer than a few additions, so that it is worth registers.
bool is_dear(Ref value, SymbolId column) {
  std::unordered_set<Ref> seen;
  int loads = 0;
  bool dear = false;
  const std::function<void(Ref)> visit = [&](Ref node) {
    if (!seen.insert(node).second || !node->uses(column)) return;
    if (node->kind == Node::Kind::kLoad) {
      ++loads;
      return;
    }
    dear |= is_float(node->type) && node->is(Op::kDiv, Op::kCall) && !node->calls("fabs");
    for (const Ref arg : node->args) visit(arg);
  };
  visit(value);
  return dear || loads > 1;
}

}  // namespace

Kept kept_between_loops(const Goal& goal, const Plan& plan, Keep keep) {
  Kept kept;
  if (keep == Keep::kReread) return kept;
  const Printer nothing_known(*goal.nodes);
  for (int space = 0; space < static_cast<int>(plan.spaces.size()); ++space) {
    const SymbolId column = plan.spaces[static_cast<std::size_t>(space)].column;
    // Stops at what is kept: then what is below is not needed any more.
    Printer stops(*goal.nodes);
    std::map<Ref, int> made;  // values of earlier loops, and the first loop that has them
    std::map<Ref, std::set<int>> needed;
    for (int level = 0; level < plan.levels; ++level) {
      const std::vector<Ref> roots = plan.roots(level, space);
      if (keep == Keep::kRegisters) {
        std::unordered_set<Ref> seen;
        const std::function<void(Ref)> visit = [&](Ref node) {
          if (!seen.insert(node).second) return;
          if (stops.known.contains(node)) {
            for (Kept::Computed& one : kept.computed) {
              if (one.value == node) one.last = level;
            }
            return;
          }
          if (!node->uses(column) || node->kind == Node::Kind::kLoad) return;
          const auto found = made.find(node);
          if (found != made.end() && is_dear(node, column)) {
            kept.computed.push_back({node, space, found->second, level});
            stops.known[node] = "kept";
            return;
          }
          for (const Ref arg : node->args) visit(arg);
          for (const nest::Term& term : node->terms) visit(term.atom);
        };
        for (const Ref root : roots) visit(root);
      }
      for (const Use& use : uses_of(stops, roots)) {
        if (use.value->kind == Node::Kind::kLoad) needed[use.value].insert(level);
      }
      for (const Use& use : uses_of(nothing_known, roots)) {
        const bool counts = use.value->kind == Node::Kind::kOp && is_float(use.value->type) &&
                            use.certain && use.value->has_load;
        if (counts && use.value->uses(column)) made.emplace(use.value, level);
      }
    }
    for (const Stream& stream : streams_of(goal, plan, space)) {
      const auto& levels = needed[stream.load];
      if (levels.size() < 2 || !stream.certain) continue;
      kept.raw.push_back({stream.load, space, *levels.begin(), *levels.rbegin()});
    }
  }
  return kept;
}

std::int64_t part_of_row(const Plan& plan, const Schedule& schedule, int space) {
  const std::int64_t vectors = plan.spaces[static_cast<std::size_t>(space)].length / schedule.width;
  return ceil_divide(vectors, schedule.cluster) * schedule.width;
}

std::int64_t bytes_kept(const Goal& goal, const Plan& plan) {
  std::int64_t bytes = 0;
  for (const Kept::Raw& one : kept_between_loops(goal, plan, Keep::kShared).raw) {
    bytes += plan.spaces[static_cast<std::size_t>(one.space)].length *
             static_cast<std::int64_t>(size_of(one.load->type));
  }
  return bytes;
}

std::int64_t most_registers(const Team& team, const TargetLimits& target) {
  const std::int64_t all = target.registers_per_sm / (std::int64_t{team.threads} * team.teams);
  return std::min<std::int64_t>(96, all - 26);
}

std::int64_t registers_kept(const Goal& goal, const Plan& plan, const Schedule& schedule) {
  const Kept kept = kept_between_loops(goal, plan, Keep::kRegisters);
  const auto per_thread = [&](int space) {
    const std::int64_t length = part_of_row(plan, schedule, space);
    const std::int64_t step = std::int64_t{schedule.team.threads} * schedule.width;
    return ceil_divide(length, step) * schedule.width;
  };
  // What lives from the loop of `level` to the next.
  std::int64_t most = 0, loops = 0;
  for (int level = 0; level < plan.levels; ++level) {
    std::int64_t bytes = 0;
    for (const Kept::Raw& one : kept.raw) {
      if (one.level > level || one.last <= level) continue;
      bytes += per_thread(one.space) * static_cast<std::int64_t>(size_of(one.load->type));
    }
    for (const Kept::Computed& one : kept.computed) {
      if (one.level > level || one.last <= level) continue;
      const std::size_t size = std::max<std::size_t>(4, size_of(one.value->type));
      bytes += per_thread(one.space) * static_cast<std::int64_t>(size);
    }
    most = std::max(most, (bytes + 3) / 4);
  }
  // Loops are unrolled whole: even where nothing is kept their length counts.
  for (int space = 0; space < static_cast<int>(plan.spaces.size()); ++space) {
    loops = std::max(loops, per_thread(space));
  }
  return std::max(most, loops / 2);
}

std::int64_t registers_ahead(const Goal& goal, const Plan& plan, const Schedule& schedule) {
  std::int64_t bytes = 0;
  for (const Kept::Raw& one : kept_between_loops(goal, plan, Keep::kRegisters).raw) {
    if (!one.load->uses(plan.row)) continue;
    const std::int64_t step = std::int64_t{schedule.team.threads} * schedule.width;
    const std::int64_t items = (part_of_row(plan, schedule, one.space) + step - 1) / step;
    bytes += items * schedule.width * static_cast<std::int64_t>(size_of(one.load->type));
  }
  return (bytes + 3) / 4;
}

std::int64_t shared_row(const Plan& plan, const Schedule& schedule, const Kept::Raw& one) {
  std::int64_t length = part_of_row(plan, schedule, one.space);
  if (schedule.keep == Keep::kSplit) {
    length -= std::int64_t{schedule.held} * schedule.team.threads * schedule.width;
  }
  return std::max<std::int64_t>(0, length) * static_cast<std::int64_t>(size_of(one.load->type));
}

std::int64_t shared_kept(const Goal& goal, const Plan& plan, const Schedule& schedule) {
  std::int64_t bytes = 0;
  for (const Kept::Raw& one : kept_between_loops(goal, plan, Keep::kShared).raw) {
    bytes += (shared_row(plan, schedule, one) * schedule.team.teams + 15) / 16 * 16;
  }
  return bytes;
}

int folds_of(const Plan& plan) {
  std::set<int> levels;
  for (const Reduction& one : plan.reductions) levels.insert(one.level);
  return static_cast<int>(levels.size());
}

bool takes_turns(const Plan& plan, const Schedule& schedule) {
  return schedule.cluster > 1 && schedule.blocks_per_sm > 0 && folds_of(plan) == 1;
}

std::int64_t shared_folds(const Goal& goal, const Plan& plan, const Schedule& schedule) {
  const std::int64_t slots = schedule.cluster > 1 ? cluster_slots(schedule.team, schedule.cluster,
                                                                  takes_turns(plan, schedule))
                                                  : fold_slots(schedule.team);
  if (slots == 0) return 0;
  Names names;
  std::int64_t bytes = 0;
  for (const Reduction& one : plan.reductions) {
    bytes += slots * Accumulator(*goal.nodes, one.node, one.body, names).bytes();
  }
  return bytes;
}

}  // namespace hone::schedules::rowwise
