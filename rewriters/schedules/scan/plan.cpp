#include "rewriters/schedules/scan/plan.h"

#include <algorithm>
#include <bit>

#include "rewriters/affine/flatten.h"
#include "rewriters/affine/integers.h"
#include "rewriters/affine/neighbours.h"
#include "rewriters/affine/strides.h"
#include "rewriters/nest/prefix.h"

namespace hone::schedules::scan {
namespace {

using nest::Node;

constexpr std::int64_t kOtherRegisters = 12;  // beside a tile's values, totals and what is before

/// How far a reduction runs.
struct Bound {
  bool reverse = false;
  bool exclusive = false;
  bool operator==(const Bound&) const = default;
};

/// "j - r >= 0" and its kin.
std::optional<Bound> bound_of(Ref condition, SymbolId r, SymbolId j) {
  if (!condition->is(Op::kNonNegative)) return std::nullopt;
  const Ref sum = condition->args[0];
  if (sum->terms.size() != 2 || sum->constant > 0 || sum->constant < -1) return std::nullopt;
  const std::int64_t of_r = stride_of(sum, r), of_j = stride_of(sum, j);
  if (std::abs(of_r) != 1 || of_j != -of_r) return std::nullopt;
  return Bound{of_r == 1, sum->constant == -1};
}

class Planner {
 public:
  explicit Planner(const Goal& goal) : goal_(goal), nodes_(*goal.nodes) {}

  /// y[j] = x[j] + (sum over r < j of x[r]), as a loop lifts to, is a sum up to j, where x is read
  /// once: `taken_in`.
  Result<Plan> plan(bool taken_in) {
    std::vector<nest::Nest> nests;
    for (const nest::Nest& given : goal_.nests) {
      auto nest = plain(nodes_, given);
      if (!nest) return std::unexpected(nest.error());
      if (taken_in) nest->value = nest::with_own_elements(nodes_, nest->value);
      nests.push_back(std::move(*nest));
    }
    // The axis: in the first nest with a reduction.
    bool found = false;
    for (const nest::Nest& nest : nests) {
      if (!found && nest.value->height > 0) found = find_axis(nest);
    }
    if (!found) return refused("no running reduction");
    for (const nest::Nest& nest : nests) {
      if (auto added = add(nest); !added) return std::unexpected(added.error());
    }
    decide_direction();
    return std::move(plan_);
  }

 private:
  bool find_axis(const nest::Nest& nest) {
    for (std::size_t place = 0; place < nest.dims.size(); ++place) {
      const SymbolId j = nest.dims[place];
      for (const Ref node : reductions_of(nest.value)) {
        if (!matched(node, j)) continue;
        axis_ = place;
        plan_.length = nodes_.extent(j);
        plan_.rows = points(nodes_, nest.dims) / plan_.length;
        plan_.row = nodes_.new_symbol("row", plan_.rows);
        plan_.column = nodes_.new_symbol("col", plan_.length);
        return plan_.rows <= INT32_MAX / 64 && plan_.length <= INT32_MAX / 4;
      }
    }
    return false;
  }

  struct Match {
    Bound bound;
    SymbolId r = -1;
    Ref each = nullptr;
  };
  std::optional<Match> matched(Ref node, SymbolId j) {
    if (node->symbols.size() != 1 || !node->uses(j)) return std::nullopt;
    if (!folds_numbers(node->op)) {
      return std::nullopt;
    }
    const nest::Nodes::Opened opened = nodes_.open(node);
    const SymbolId r = opened.symbols[0];
    const Ref body = nest::peel(opened.body);
    const Ref nothing = nodes_.identity(node->op, opened.body->type);
    if (!body->is(Op::kSelect) || body->args[2] != nothing) return std::nullopt;
    std::optional<Bound> bound;
    Ref rest = nodes_.boolean(true);
    for (const Ref part : nest::conjuncts(body->args[0])) {
      const auto one = bound ? std::nullopt : bound_of(part, r, j);
      if (one) {
        bound = one;
      } else {
        rest = nodes_.both(rest, part);
      }
    }
    const Ref each = nodes_.select(rest, body->args[1], nothing);
    if (!bound || each->uses(j) || each->height > 0) return std::nullopt;
    // The last element is never asked for where it is left out.
    const std::int64_t length = nodes_.extent(r), columns = nodes_.extent(j);
    if (length != columns && !(bound->exclusive && !bound->reverse && length == columns - 1)) {
      return std::nullopt;
    }
    return Match{*bound, r, each};
  }

  /// One value for each row, beside the running ones: stored with the first column.
  void add_first(const nest::Nest& nest) {
    const auto over = [&](Ref value) { return flatten(nodes_, value, nest.dims, plan_.row); };
    const Ref guard = nodes_.both(over(nest.guard), nodes_.is_zero(nodes_.index(plan_.column)));
    plan_.stores.push_back({nest.buffer, nest.type, over(nest.element), over(nest.value), guard});
  }

  Result<void> add(const nest::Nest& nest) {
    if (nest.value->height == 0 && points(nodes_, nest.dims) == plan_.rows &&
        !nest.element->has_load) {
      add_first(nest);
      return {};
    }
    if (nest.dims.size() <= axis_ || nodes_.extent(nest.dims[axis_]) != plan_.length ||
        points(nodes_, nest.dims) != plan_.rows * plan_.length) {
      return refused("nests of other sizes");
    }
    if (nest.element->has_load) return refused("a scattered store");
    std::vector<SymbolId> rows = nest.dims;
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis_));
    const auto over = [&](Ref value) {
      return flatten(nodes_, flatten(nodes_, value, rows, plan_.row), {nest.dims[axis_]},
                     plan_.column);
    };
    const Ref value = over(nest.value);
    for (const Ref node : reductions_of(value)) {
      if (std::ranges::any_of(plan_.running,
                              [&](const Running& one) { return one.node == node; })) {
        continue;
      }
      const auto match = matched(node, plan_.column);
      if (!match) return refused("a reduction that does not run along the axis");
      const Bound bound = match->bound;
      if (!plan_.running.empty() && bound != Bound{plan_.reverse, plan_.exclusive}) {
        return refused("running reductions of several directions");
      }
      plan_.reverse = bound.reverse;
      plan_.exclusive = bound.exclusive;
      Ref each = nodes_.substitute(match->each, {{match->r, nodes_.index(plan_.column)}});
      if (nodes_.extent(match->r) < plan_.length) {
        const Ref inside =
            nodes_.less(nodes_.index(plan_.column), nodes_.integer(nodes_.extent(match->r)));
        each = nodes_.select(inside, each, nodes_.identity(node->op, each->type));
      }
      if (!nest.guard->is_constant() && !all_in_range(goal_, each)) {
        return refused("a guard keeps loads inside their buffers");
      }
      plan_.running.push_back({node, each, node->op});
    }
    plan_.stores.push_back({nest.buffer, nest.type, over(nest.element), value, over(nest.guard)});
    return {};
  }

  void decide_direction() {
    Neighbours rows(nodes_, plan_.row, 1), columns(nodes_, plan_.column, 1);
    int along = 0, across = 0;
    for (const Running& one : plan_.running) {
      for (const Ref load : loads_of(one.each)) {
        if (columns.step(load->args[0]) == 1) {
          ++along;
        } else if (load->uses(plan_.row) && rows.step(load->args[0]) == 1) {
          ++across;
        }
      }
    }
    plan_.across = across > along;
  }

  const Goal& goal_;
  nest::Nodes& nodes_;
  Plan plan_;
  std::size_t axis_ = 0;
};

}  // namespace

namespace {

/// Of a thread's vector: its values, its total, and what comes before it.
std::int64_t registers_of_item(const Plan& plan, int width) {
  std::int64_t registers = 0;
  for (const Running& one : plan.running) {
    const int words = size_of(one.each->type) == 8 ? 2 : 1;
    registers += (width + 2) * words;
    if (is_product(one.op, one.each->type)) registers += 2;  // exponents
  }
  return registers;
}

}  // namespace

bool has_products(const Plan& plan) {
  return std::ranges::any_of(plan.running,
                             [](const Running& one) { return is_product(one.op, one.each->type); });
}

Result<Plan> plan_scan(const Goal& goal) {
  auto plan = Planner(goal).plan(/*taken_in=*/true);
  return plan ? plan : Planner(goal).plan(/*taken_in=*/false);
}

int widest(const Goal& goal, const Plan& plan) {
  if (plan.across) return 1;
  std::vector<Ref> values = values_of(plan.stores);
  for (const Running& one : plan.running) values.push_back(one.each);
  return widest_vector(goal, plan.column, values, elements_of(plan.stores), 8);
}

void make_fit(const Goal& goal, const Plan& plan, Schedule& schedule) {
  Team& team = schedule.team;
  team.across = plan.across;
  while (schedule.width > widest(goal, plan)) schedule.width /= 2;
  const auto floor = [](int value, int most) {
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::clamp(value, 1, most))));
  };
  team.threads = floor(team.threads, plan.across ? 32 : 1024);
  team.teams = plan.across ? 32 : floor(team.teams, std::max(1, 1024 / team.threads));
  if (!plan.across) team.teams = std::max(team.teams, 32 / team.threads);
  // Rows side by side: each thread's sum, of two tiles in turns, and the fold of parts before.
  const auto shared_bytes = [&] {
    const std::int64_t slots = std::int64_t{2} * team.threads * team.teams + fold_slots(team);
    return slots * (has_products(plan) ? 16 : 8) * static_cast<std::int64_t>(plan.running.size());
  };
  while (plan.across && team.threads > 1 &&
         shared_bytes() > goal.context->target.shared_per_block) {
    team.threads /= 2;
  }
  schedule.items = floor(schedule.items, 16);
  if (plan.across || plan.parts > 1) schedule.single_pass = false;
  if (schedule.single_pass) {
    team.threads = std::max(team.threads, 64);
    team.teams = 1;
  }
  const std::int64_t free_registers =
      std::min<std::int64_t>(
          255, goal.context->target.registers_per_sm / std::max(32, team.threads * team.teams)) -
      kOtherRegisters;
  while (schedule.items > 1 &&
         schedule.items * registers_of_item(plan, schedule.width) > free_registers)
    schedule.items /= 2;
  // Short rows, as those of checks are, in smaller tiles: one tile would look at nobody.
  while (schedule.single_pass && tiles_of(plan, schedule) < 4) {
    int* const most = schedule.items > 1   ? &schedule.items
                      : team.threads > 64  ? &team.threads
                      : schedule.width > 1 ? &schedule.width
                                           : nullptr;
    if (most == nullptr) break;
    *most /= 2;
  }
  // Blocks are counted by an int.
  const std::int64_t tiles = tiles_of(plan, schedule);
  if (tiles < 2 || plan.rows * tiles > INT32_MAX / 64) schedule.single_pass = false;
}

Schedule first_guess_of_tiles(const Goal& goal, const Plan& plan) {
  Schedule schedule;
  schedule.width = widest(goal, plan);
  // Much is under way while tiles wait for those before; 1024 threads have few registers.
  schedule.team.threads = 512;
  schedule.items = static_cast<int>(std::max<std::int64_t>(1, 32 / schedule.width));
  schedule.single_pass = true;
  make_fit(goal, plan, schedule);
  return schedule;
}

Schedule first_guess(const Goal& goal, const Plan& plan) {
  Schedule schedule;
  schedule.width = widest(goal, plan);
  const std::int64_t sms = std::max(1, goal.context->target.sm_count);
  if (plan.across) {
    const std::int64_t groups = (plan.rows + 31) / 32;
    schedule.team.threads = groups * 8 >= sms * 32 ? 8 : 32;
    schedule.items = 8;
  } else {
    // One tile for a row where it fits: 16 elements a thread.
    const std::int64_t each = std::max(16, schedule.width);
    const auto threads = static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(ceil_divide(plan.length, each))));
    schedule.team.threads =
        static_cast<int>(std::clamp<std::int64_t>(threads, 4, plan.rows < sms * 2 ? 1024 : 256));
    schedule.items = static_cast<int>(std::max<std::int64_t>(1, 16 / schedule.width));
    schedule.team.teams = std::max(1, 128 / schedule.team.threads);
  }
  make_fit(goal, plan, schedule);
  return schedule;
}

}  // namespace hone::schedules::scan
