#include "rewriters/schedules/rowwise/rowwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/space.h"

namespace hone::schedules {
namespace rowwise {
namespace {

constexpr int kAcrossRows = 32;    // rows side by side
constexpr int kMostInCluster = 8;  // blocks: what every GPU with clusters can do
// Beyond, fewer than two rows are on a multiprocessor at once; and a part of which four are [B].
constexpr std::int64_t kMostForBlock = 64 * 1024, kGoodForBlock = 32 * 1024;

std::int64_t longest(const Plan& plan) {
  std::int64_t length = 1;
  for (const Space& space : plan.spaces) length = std::max(length, space.length);
  return length;
}

std::int64_t power_of_two_from(std::int64_t value) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, value))));
}

}  // namespace

namespace {

/// Rows of at least a warp for each block; rows side by side have their threads in one.
void fit_cluster(const Goal& goal, const Plan& plan, Schedule& schedule) {
  schedule.cluster = static_cast<int>(
      std::bit_floor(static_cast<unsigned>(std::clamp(schedule.cluster, 1, kMostInCluster))));
  if (goal.context->target.compute_capability < 90 || plan.across) schedule.cluster = 1;
  while (schedule.cluster > 1 && longest(plan) < std::int64_t{schedule.cluster} * 32) {
    schedule.cluster /= 2;
  }
}

/// Of the row's parts in the blocks of a cluster.
std::int64_t longest_part(const Plan& plan, const Schedule& schedule) {
  std::int64_t length = 1;
  for (int space = 0; space < static_cast<int>(plan.spaces.size()); ++space) {
    length = std::max(length, part_of_row(plan, schedule, space));
  }
  return length;
}

/// All levels' folds beside each other in static shared memory.
bool folds_fit(const Goal& goal, const Plan& plan, const Schedule& schedule) {
  return shared_folds(goal, plan, schedule) <= goal.context->target.shared_per_block;
}

void fit_folds(const Goal& goal, const Plan& plan, Schedule& schedule) {
  Team& team = schedule.team;
  while (!folds_fit(goal, plan, schedule)) {
    if (schedule.cluster > 1) {
      schedule.cluster /= 2;
    } else if (!team.across && team.teams > 1) {
      team.teams /= 2;
    } else {
      team.threads /= 2;
    }
  }
}

/// For rows, beside the folds [B].
std::int64_t shared_room(const Goal& goal, const Plan& plan, const Schedule& schedule) {
  const std::int64_t folds = shared_folds(goal, plan, schedule) + 256;
  return goal.context->target.shared_per_block_optin - std::max<std::int64_t>(8192, folds);
}

/// As much as registers hold, the rest in shared memory; false: it is too much, or too little.
bool split_fits(const Goal& goal, const Plan& plan, Schedule& schedule) {
  if (plan.across || schedule.team.teams > 1 || plan.spaces.size() != 1) return false;
  std::int64_t bytes = 0;  // of a vector
  for (const Kept::Raw& one : kept_between_loops(goal, plan, Keep::kShared).raw) {
    bytes += static_cast<std::int64_t>(size_of(one.load->type)) * schedule.width;
  }
  if (bytes == 0) return false;
  // The last block of a cluster has the shortest part.
  const std::int64_t part = part_of_row(plan, schedule, 0);
  const std::int64_t shortest = plan.spaces[0].length - part * (schedule.cluster - 1);
  const std::int64_t items = shortest / (std::int64_t{schedule.team.threads} * schedule.width);
  const std::int64_t room = most_registers(schedule.team, goal.context->target) * 4 / bytes;
  schedule.held = static_cast<int>(std::min(room, items - 1));
  return schedule.held > 0 &&
         shared_kept(goal, plan, schedule) <= shared_room(goal, plan, schedule);
}

}  // namespace

int widest(const Goal& goal, const Plan& plan) {
  if (plan.across) return 1;
  int width = 8;
  for (int space = 0; space < static_cast<int>(plan.spaces.size()); ++space) {
    std::vector<Ref> values;
    std::vector<std::pair<ScalarType, Ref>> elements;
    for (int level = 0; level < plan.levels; ++level) {
      const std::vector<Ref> roots = plan.roots(level, space);
      values.insert(values.end(), roots.begin(), roots.end());
    }
    for (const Output& one : plan.outputs) {
      if (one.space == space) elements.emplace_back(one.type, one.element);
    }
    width = widest_vector(goal, plan.spaces[static_cast<std::size_t>(space)].column, values,
                          elements, width);
  }
  return width;
}

void make_fit(const Goal& goal, const Plan& plan, Schedule& schedule) {
  const TargetLimits& target = goal.context->target;
  Team& team = schedule.team;
  team.across = plan.across;
  while (schedule.width > widest(goal, plan)) schedule.width /= 2;
  fit_cluster(goal, plan, schedule);
  team.threads =
      static_cast<int>(std::bit_floor(static_cast<unsigned>(std::clamp(team.threads, 1, 1024))));
  team.teams =
      static_cast<int>(std::bit_floor(static_cast<unsigned>(std::clamp(team.teams, 1, 1024))));
  // No more threads than a row has elements; whole warps are had by more rows.
  team.threads = static_cast<int>(
      std::min(std::int64_t{team.threads}, power_of_two_from(longest_part(plan, schedule))));
  if (schedule.cluster > 1) team.threads = std::max(team.threads, 32);
  if (team.across) {
    team.threads = std::min(team.threads, 1024 / kAcrossRows);
    team.teams = kAcrossRows;
  } else {
    team.teams = std::min(team.teams, 1024 / team.threads);
    team.teams = std::max(team.teams, 32 / team.threads);
  }
  fit_folds(goal, plan, schedule);
  if (schedule.keep == Keep::kRegisters) {
    const int most = team.across ? 1024 / kAcrossRows : 1024;
    while (registers_kept(goal, plan, schedule) > most_registers(team, target) &&
           team.threads < most) {
      const Team before = team;
      team.threads *= 2;
      if (!team.across) team.teams = std::max(1, std::min(team.teams, 1024 / team.threads));
      if (folds_fit(goal, plan, schedule)) continue;
      team = before;
      break;
    }
    if (registers_kept(goal, plan, schedule) > most_registers(team, target))
      schedule.keep = Keep::kShared;
  }
  if (schedule.keep == Keep::kSplit && !split_fits(goal, plan, schedule)) {
    schedule.keep = Keep::kReread;
  }
  if (schedule.keep == Keep::kShared) {
    while (!team.across && team.teams > std::max(1, 32 / team.threads) &&
           shared_kept(goal, plan, schedule) > shared_room(goal, plan, schedule)) {
      team.teams /= 2;
    }
    if (shared_kept(goal, plan, schedule) > shared_room(goal, plan, schedule)) {
      schedule.keep = Keep::kReread;
    }
  }
  const std::int64_t room = INT32_MAX / 4;
  if (plan.rows > room) schedule.blocks_per_sm = 0;
  // The next row waits in registers, beside this one.
  schedule.ahead = schedule.ahead && schedule.blocks_per_sm > 0 &&
                   schedule.keep == Keep::kRegisters && registers_ahead(goal, plan, schedule) > 0 &&
                   registers_kept(goal, plan, schedule) + registers_ahead(goal, plan, schedule) <=
                       most_registers(team, target);
}

namespace {

/// Blocks for a row, so that several rows' parts are on a multiprocessor at once and one is loaded
/// while another is stored; and where rows are few, so that all multiprocessors have some.
int good_cluster(const Goal& goal, const Plan& plan) {
  if (plan.across || goal.context->target.compute_capability < 90) return 1;
  const std::int64_t bytes = bytes_kept(goal, plan);
  const std::int64_t sms = std::max(1, goal.context->target.sm_count);
  const bool large = bytes > kMostForBlock;
  int cluster = 1;
  while (cluster < kMostInCluster &&
         ((large && bytes > cluster * kGoodForBlock) ||
          (plan.rows * cluster < sms && longest(plan) >= std::int64_t{cluster} * 8192))) {
    cluster *= 2;
  }
  return cluster;
}

/// 128 bytes a thread; few rows: more threads for each.
void guess_in_cluster(const Goal& goal, const Plan& plan, Schedule& schedule) {
  const std::int64_t sms = std::max(1, goal.context->target.sm_count);
  const std::int64_t part = longest_part(plan, schedule);
  std::int64_t threads = power_of_two_from(std::max(bytes_kept(goal, plan) / schedule.cluster / 128,
                                                    part / std::max(32, schedule.width)));
  threads = std::clamp<std::int64_t>(threads, 64, 1024);
  while (threads < 1024 && threads * schedule.width < part &&
         threads * schedule.cluster * plan.rows < sms * 1024) {
    threads *= 2;
  }
  schedule.team = {static_cast<int>(threads), 1, false};
  make_fit(goal, plan, schedule);
}

}  // namespace

Schedule first_guess(const Goal& goal, const Plan& plan, bool clusters) {
  Schedule schedule;
  const std::int64_t length = longest(plan);
  schedule.width = widest(goal, plan);
  schedule.keep = Keep::kRegisters;
  schedule.reciprocal = true;
  const std::int64_t sms = std::max(1, goal.context->target.sm_count);
  if (clusters) schedule.cluster = good_cluster(goal, plan);
  if (schedule.cluster > 1) {
    Schedule shared_rows = schedule;
    guess_in_cluster(goal, plan, shared_rows);
    if (shared_rows.keep != Keep::kReread) return shared_rows;
    schedule.cluster = 1;
  }
  if (plan.across) {
    // As many threads over the column as fill the device: 2048 of each multiprocessor.
    const std::int64_t groups = ceil_divide(plan.rows, kAcrossRows);
    const std::int64_t wanted = power_of_two_from(sms * 64 / std::max<std::int64_t>(1, groups));
    schedule.team.threads = static_cast<int>(
        std::clamp<std::int64_t>(wanted, 4, std::min<std::int64_t>(32, power_of_two_from(length))));
  } else {
    const std::int64_t each = std::max(16, schedule.width);
    const std::int64_t alone = power_of_two_from(ceil_divide(length, each));
    // Few rows: more threads for each.
    std::int64_t threads = std::clamp<std::int64_t>(alone, 4, 1024);
    while (threads < 1024 && threads * schedule.width < length &&
           threads * plan.rows < sms * 1024) {
      threads *= 2;
    }
    schedule.team.threads = static_cast<int>(threads);
    schedule.team.teams = static_cast<int>(std::max<std::int64_t>(1, 128 / threads));
  }
  make_fit(goal, plan, schedule);
  if (schedule.keep == Keep::kReread) {
    Schedule split = schedule;
    split.keep = Keep::kSplit;
    split.team.threads = 1024;
    make_fit(goal, plan, split);
    if (split.keep == Keep::kSplit) return split;
  }
  return schedule;
}

namespace {

const char* name_of(Keep keep) {
  return keep == Keep::kRegisters ? "registers"
         : keep == Keep::kShared  ? "shared"
         : keep == Keep::kSplit   ? "split"
                                  : "reread";
}

Keep parse_keep(std::string_view text) {
  for (const Keep keep : {Keep::kRegisters, Keep::kShared, Keep::kSplit}) {
    if (text == name_of(keep)) return keep;
  }
  return Keep::kReread;
}

std::string description(const Plan& plan) {
  int maps = 0;
  for (const Output& one : plan.outputs) maps += one.space >= 0 ? 1 : 0;
  return fmt::format("{} rows of {}{}: {} reduction{} in {} pass{}, {} map{}", plan.rows,
                     longest(plan), plan.across ? ", side by side in memory" : "",
                     plan.reductions.size(), plan.reductions.size() == 1 ? "" : "s", plan.levels,
                     plan.levels == 1 ? "" : "es", maps, maps == 1 ? "" : "s");
}

class Rowwise : public Generator {
 public:
  std::string_view name() const override { return "generate-rowwise"; }
  std::string_view summary() const override {
    return "nests over the same rows, with reductions => one kernel: threads share a row, which "
           "stays in registers or shared memory between the reductions, of one block or of a "
           "cluster; legal when every reduction "
           "depends on the row alone";
  }

  Result<Offer> match(const Goal& goal) const override {
    auto plan = plan_rows(goal);
    if (!plan) return std::unexpected(plan.error());
    const Schedule guess = first_guess(goal, *plan, true);
    Offer offer;
    offer.description = description(*plan);
    offer.math = MathLevel::kReassociate;
    SpaceBuilder space(offer);
    const std::int64_t most =
        std::min<std::int64_t>(plan->across ? 32 : 1024, power_of_two_from(longest(*plan)));
    const std::int64_t least = longest(*plan) <= 64 || plan->across ? 1 : 8;
    space.powers("threads", std::min(least, most), most, guess.team.threads);
    space.powers("rows", plan->across ? 32 : 1, 32, guess.team.teams);
    space.powers("vector", 1, widest(goal, *plan), guess.width);
    std::vector<ParameterValue> keeps;
    for (const Keep keep : {Keep::kRegisters, Keep::kShared, Keep::kSplit, Keep::kReread}) {
      const auto fits = [&](int cluster) {
        Schedule trial = guess;
        trial.keep = keep;
        trial.cluster = cluster;
        if (keep == Keep::kSplit) trial.team = {1024, 1, plan->across};
        make_fit(goal, *plan, trial);
        return trial.keep == keep;
      };
      if (fits(guess.cluster) || fits(1)) keeps.emplace_back(std::string(rowwise::name_of(keep)));
    }
    Schedule widest_cluster = guess;
    widest_cluster.cluster = kMostInCluster;
    fit_cluster(goal, *plan, widest_cluster);
    space.powers("cluster", 1, widest_cluster.cluster, guess.cluster);
    space.values("keep", std::move(keeps), std::string(rowwise::name_of(guess.keep)));
    add_cache(space, goal);
    space.numbers("blocks_per_sm", {0, 1, 2, 4, 8, 16}, 0);
    space.values("load_ahead", {std::string("no"), std::string("row")}, std::string("no"));
    space.powers("unroll", 1, 8, 4);
    space.values("divide", {std::string("exact"), std::string("reciprocal")},
                 std::string("reciprocal"));
    return offer;
  }

  Result<Generated> generate(const Goal& goal, const Step& step,
                             const std::string& prefix) const override {
    auto plan = plan_rows(goal);
    if (!plan) return std::unexpected(plan.error());
    Schedule schedule = first_guess(goal, *plan, true);
    schedule.team.threads = static_cast<int>(step.int_param("threads", schedule.team.threads));
    schedule.team.teams = static_cast<int>(step.int_param("rows", schedule.team.teams));
    schedule.width = static_cast<int>(step.int_param("vector", schedule.width));
    schedule.cluster = static_cast<int>(step.int_param("cluster", 1));
    schedule.keep = parse_keep(step.string_param("keep", rowwise::name_of(schedule.keep)));
    schedule.cache = parse_cache(step.string_param("cache", "default"));
    schedule.blocks_per_sm = static_cast<int>(step.int_param("blocks_per_sm", 0));
    schedule.ahead = step.string_param("load_ahead", "no") == "row";
    schedule.unroll =
        static_cast<int>(std::clamp<std::int64_t>(step.int_param("unroll", 4), 1, 16));
    schedule.reciprocal = step.string_param("divide", "exact") == "reciprocal";
    make_fit(goal, *plan, schedule);
    Helpers helpers(prefix);
    Code code;
    Generated generated;
    print_rows(goal, *plan, schedule, prefix + "rows_kernel", description(*plan) + ".", helpers,
               code, generated);
    generated.source = helpers.text() + code.text();
    return generated;
  }
};

}  // namespace
}  // namespace rowwise

std::unique_ptr<Generator> make_rowwise() { return std::make_unique<rowwise::Rowwise>(); }

}  // namespace hone::schedules
