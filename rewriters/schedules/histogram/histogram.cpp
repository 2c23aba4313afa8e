#include "rewriters/schedules/histogram/histogram.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/histogram/schedule.h"
#include "rewriters/schedules/histogram/stage.h"
#include "rewriters/schedules/products.h"
#include "rewriters/schedules/rowwise/rowwise.h"
#include "rewriters/schedules/space.h"

namespace hone::schedules {
namespace histogram {
namespace {

std::string description(const std::vector<Group>& groups) {
  std::string text;
  for (const Group& group : groups) {
    if (!text.empty()) text += "; ";
    text += group.rows > 1 ? fmt::format("{} rows of {} points", group.rows, group.count)
                           : fmt::format("{} points", group.count);
    for (const Scatter& scatter : group.scatters) {
      text += fmt::format(
          ", into {} elements of {}{}", scatter.slots, scatter.buffer,
          scatter.combine == Op::kAdd ? "" : fmt::format(" by {}", info(scatter.combine).name));
    }
  }
  return text;
}

/// Sums of floats are reordered: those that points are added to, and those that values are, whose
/// kernels divide by reciprocals, too.
MathLevel math_of(const Goal& rest, const Staged& staged) {
  bool floats =
      std::ranges::any_of(rest.nests, [](const nest::Nest& nest) { return is_float(nest.type); });
  for (const nest::Nest& nest : staged.first) {
    for_each(nest.value, [&](Ref node) { floats |= is_float(node->type); });
  }
  return floats ? MathLevel::kReassociate : MathLevel::kExact;
}

/// The group with the most points: the space is of what it can do.
const Group& largest_of(const std::vector<Group>& groups) {
  return *std::ranges::max_element(groups, {},
                                   [](const Group& group) { return group.rows * group.count; });
}

/// The fewest dims as rows with which tables fit well; else none.
int first_row_dims(const Goal& goal) {
  constexpr std::int64_t kSmall = 32 * 1024;  // [B]
  for (int dims = 0; dims <= most_row_dims(goal); ++dims) {
    const auto groups = plan_scatters(goal, dims);
    if (groups && largest_of(*groups).table_bytes(1) <= kSmall) return dims;
  }
  return 0;
}

/// Walks are of use where neighbours go to the buffer together: rows.
std::int64_t most_steps(const Goal& goal, const Group& group, Schedule schedule) {
  schedule.tables = false;
  const bool rows = std::ranges::any_of(group.scatters, [&](const Scatter& scatter) {
    return goes_in_packs(goal, group, scatter, schedule);
  });
  return rows && goal.nests.size() == 1 ? 16 : 1;
}

void read_step(const Step& step, Schedule& schedule) {
  schedule.tables = step.string_param("tables", schedule.tables ? "shared" : "none") == "shared";
  schedule.parts = static_cast<int>(step.int_param("parts", schedule.parts));
  schedule.copies = static_cast<int>(step.int_param("copies", schedule.copies));
  schedule.by_lane = step.string_param("copy_of", schedule.by_lane ? "lane" : "warp") == "lane";
  schedule.merge = parse_merge(step.string_param("merge", "none"));
  schedule.width = static_cast<int>(step.int_param("vector", schedule.width));
  schedule.items = static_cast<int>(step.int_param("items", schedule.items));
  schedule.threads = static_cast<int>(step.int_param("threads", schedule.threads));
  schedule.blocks_per_sm =
      static_cast<int>(step.int_param("blocks_per_sm", schedule.blocks_per_sm));
  schedule.packs = step.int_param("packed_atomics", 1) != 0;
  schedule.cache = parse_cache(step.string_param("cache", "default"));
}

/// What each kernel that computes values has to: all of them where they are of the same rows, else
/// one. kRefused: not rows.
Result<std::vector<Goal>> goals_of_values(const Goal& goal, const Staged& staged) {
  std::vector<Goal> goals;
  if (staged.first.empty()) return goals;
  Goal values = goal;
  values.concrete = &staged.concrete;
  values.nests = staged.first;
  if (rowwise::plan_rows(values)) return std::vector{values};
  for (const nest::Nest& nest : staged.first) {
    values.nests = {nest};
    if (const auto plan = rowwise::plan_rows(values); !plan) return std::unexpected(plan.error());
    goals.push_back(values);
  }
  return goals;
}

/// The kernels of what is computed before it is scattered.
Result<void> print_values(const Goal& goal, const Staged& staged, const std::string& prefix,
                          Helpers& helpers, Code& code, Generated& generated) {
  const auto goals = goals_of_values(goal, staged);
  if (!goals) return std::unexpected(goals.error());
  for (std::size_t i = 0; i < goals->size(); ++i) {
    const Goal& values = (*goals)[i];
    const auto plan = rowwise::plan_rows(values);
    if (!plan) return std::unexpected(plan.error());
    rowwise::Schedule schedule = rowwise::first_guess(values, *plan);
    rowwise::make_fit(values, *plan, schedule);
    print_rows(values, *plan, schedule,
               fmt::format("{}values_kernel{}", prefix, i == 0 ? "" : std::to_string(i + 1)),
               fmt::format("Values to be scattered, of {} rows.", plan->rows), helpers, code,
               generated);
  }
  for (const ConcreteBuffer& buffer : staged.scratch)
    generated.scratch.push_back(scratch_of(buffer));
  return {};
}

class Histogram : public Generator {
 public:
  std::string_view name() const override { return "generate-histogram"; }
  std::string_view summary() const override {
    return "accumulations into elements read from data => tables in shared memory, or atomics on "
           "vectors of points; legal when there is an atomic operation of that kind";
  }

  Result<Offer> match(const Goal& whole) const override {
    const auto staged = stage_values(whole, "p_");
    if (!staged) return std::unexpected(staged.error());
    const Goal goal = staged->rest(whole);
    const int row_dims = first_row_dims(goal);
    const auto groups = plan_scatters(goal, row_dims);
    if (!groups) return std::unexpected(groups.error());
    if (const auto values = goals_of_values(whole, *staged); !values) {
      return std::unexpected(values.error());
    }
    const Group& group = largest_of(*groups);
    const Schedule guess = first_guess(goal, group);
    const std::int64_t bytes = group.table_bytes(1), limit = shared_limit(goal);
    Offer offer;
    offer.math = math_of(goal, *staged);
    offer.description = description(*groups);
    if (!staged->first.empty()) offer.description += ", whose values are reductions";
    SpaceBuilder space(offer);
    std::vector<std::int64_t> dims;
    for (int i = 0; i <= std::min(2, most_row_dims(goal)); ++i) dims.push_back(i);
    space.numbers("row_dims", dims, row_dims);
    std::vector<ParameterValue> tables;
    if (bytes <= 16 * limit) tables.emplace_back(std::string("shared"));
    tables.emplace_back(std::string("none"));
    space.values("tables", tables, std::string(guess.tables ? "shared" : "none"));
    std::vector<std::int64_t> parts;
    for (std::int64_t count = 1; count <= 16; count *= 2) {
      const bool fits = group.table_bytes(count) + 64 <= limit;
      if (fits && parts.size() < 3) parts.push_back(count);
    }
    if (parts.empty()) parts.push_back(1);
    space.numbers("parts", parts, guess.parts);
    space.powers("copies", 1, 32, guess.copies);
    space.values("copy_of", {std::string("lane"), std::string("warp")}, std::string("lane"));
    std::vector<ParameterValue> merges = {std::string("none"), std::string("runs")};
    if (group.counts()) merges.emplace_back(std::string("match"));
    space.values("merge", merges, std::string("none"));
    space.powers("vector", 1, guess.width, guess.width);
    space.powers("items", 1, 8, guess.items);
    space.powers("threads", 64, 1024, guess.threads);
    space.numbers("blocks_per_sm", {1, 2, 4, 8, 16}, guess.blocks_per_sm);
    space.numbers("packed_atomics", {0, 1}, 1);
    space.powers("walk", 1, most_steps(goal, group, guess), 1);
    space.values("cache", {std::string("default"), std::string("stream")}, std::string("default"));
    return offer;
  }

  Result<Generated> generate(const Goal& whole, const Step& step,
                             const std::string& prefix) const override {
    const auto staged = stage_values(whole, prefix);
    if (!staged) return std::unexpected(staged.error());
    const Goal goal = staged->rest(whole);
    const bool tables = step.string_param("tables", "shared") == "shared";
    const int row_dims =
        tables ? static_cast<int>(step.int_param("row_dims", first_row_dims(goal))) : 0;
    const std::int64_t walk = tables ? 1 : step.int_param("walk", 1);
    const auto groups = plan_scatters(goal, row_dims, walk);
    if (!groups) return std::unexpected(groups.error());
    Helpers helpers(prefix);
    Code code;
    Generated generated;
    if (auto values = print_values(whole, *staged, prefix, helpers, code, generated); !values) {
      return std::unexpected(values.error());
    }
    for (std::size_t i = 0; i < groups->size(); ++i) {
      const Group& group = (*groups)[i];
      Schedule schedule = first_guess(goal, group);
      read_step(step, schedule);
      make_fit(goal, group, schedule);
      print_scatters(goal, group, schedule,
                     fmt::format("{}scatter_kernel{}", prefix, i == 0 ? "" : std::to_string(i + 1)),
                     description({group}) + ".", helpers, code, generated);
    }
    generated.source = helpers.text() + code.text();
    return generated;
  }
};

}  // namespace
}  // namespace histogram

std::unique_ptr<Generator> make_histogram() { return std::make_unique<histogram::Histogram>(); }

}  // namespace hone::schedules
