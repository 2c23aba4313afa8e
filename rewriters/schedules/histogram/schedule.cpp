#include "rewriters/schedules/histogram/schedule.h"

#include <algorithm>

#include "rewriters/affine/neighbours.h"

namespace hone::schedules::histogram {
namespace {

constexpr int kMostParts = 16;
constexpr int kMostFirstParts = 4;

int sm_count(const Goal& goal) {
  return goal.context == nullptr ? 132 : std::max(1, goal.context->target.sm_count);
}

std::int64_t shared_per_sm(const Goal& goal) {
  return goal.context == nullptr ? 228 * 1024 : goal.context->target.shared_per_sm;
}

bool any_float(const Group& group) {
  return std::ranges::any_of(group.scatters,
                             [](const Scatter& scatter) { return is_float(scatter.type); });
}

/// A copy for every lane where they are small: no two lanes of a warp meet. Floats that do are
/// dear: one lane after the other, each a loop.
int first_copies(const Group& group, int parts, std::int64_t limit) {
  const std::int64_t room = std::min<std::int64_t>(limit, any_float(group) ? 64 * 1024 : 32 * 1024);
  std::int64_t copies = 1;
  while (copies < 32 && copies * 2 * group.table_bytes(parts) <= room) copies *= 2;
  return static_cast<int>(copies);
}

}  // namespace

Merge parse_merge(std::string_view text) {
  if (text == "runs") return Merge::kRuns;
  return text == "match" ? Merge::kMatch : Merge::kNone;
}

std::int64_t shared_limit(const Goal& goal) {
  return goal.context == nullptr ? 227 * 1024 : goal.context->target.shared_per_block_optin;
}

std::int64_t shared_bytes(const Group& group, const Schedule& schedule) {
  if (!schedule.tables) return 0;
  // Each table begins at a multiple of 16 bytes.
  return schedule.copies * group.table_bytes(schedule.parts) +
         static_cast<std::int64_t>(group.scatters.size()) * 16;
}

std::int64_t unit_of(const Schedule& schedule) {
  return schedule.merge == Merge::kMatch ? 32 * schedule.width : schedule.width;
}

int widest(const Goal& goal, const Group& group) {
  nest::Nodes& nodes = *goal.nodes;
  for (int width = 16; width > 1; width /= 2) {
    if (group.count < 2 * width) continue;
    const Group whole = without_tail(nodes, group, width);
    if (widest_vector(goal, whole.point, whole.values(nodes), {}, width) == width) return width;
  }
  return 1;
}

bool goes_in_packs(const Goal& goal, const Group& group, const Scatter& scatter,
                   const Schedule& schedule) {
  return schedule.packs && !schedule.tables && schedule.width > 1 &&
         schedule.merge == Merge::kNone && scatter.type == ScalarType::kF32 &&
         scatter.combine == Op::kAdd && scatter.first->is_constant() &&
         scatter.guard->is_constant() && goal.context->target.compute_capability >= 90 &&
         Neighbours(*goal.nodes, group.point, schedule.width).contiguous(scatter.slot);
}

Schedule first_guess(const Goal& goal, const Group& group) {
  Schedule schedule;
  const std::int64_t limit = shared_limit(goal) - 1024;
  while (schedule.parts <= kMostFirstParts && group.table_bytes(schedule.parts) > limit) {
    schedule.parts *= 2;
  }
  // Each part reads all of the points again, still sooner than atomics on scattered words are done.
  // A table is worth its clearing and adding up where more points meet in it than it has slots.
  std::int64_t slots = 0;
  for (const Scatter& scatter : group.scatters) slots += scatter.slots;
  const std::int64_t chunks =
      std::max<std::int64_t>(1, sm_count(goal) / (group.rows * schedule.parts));
  schedule.tables = schedule.parts <= kMostFirstParts && chunks * slots <= group.count;
  if (!schedule.tables) schedule.parts = 1;
  schedule.copies = schedule.tables ? first_copies(group, schedule.parts, limit) : 1;
  schedule.width = widest(goal, group);
  const std::int64_t everyone = std::int64_t{sm_count(goal)} * 2048;
  const std::int64_t vectors = group.rows * group.count / schedule.width;
  if (schedule.width <= 8 && vectors >= 4 * everyone) schedule.items = 2;
  if (!schedule.tables) {
    schedule.threads = 256;
    schedule.blocks_per_sm = 8;
    return schedule;
  }
  const std::int64_t resident = shared_per_sm(goal) / (shared_bytes(group, schedule) + 1024);
  schedule.blocks_per_sm = static_cast<int>(std::clamp<std::int64_t>(resident, 1, 4));
  if (schedule.blocks_per_sm == 3) schedule.blocks_per_sm = 2;
  schedule.threads = std::min(1024, 2048 / schedule.blocks_per_sm);
  while (schedule.threads > 128 && vectors / schedule.threads < sm_count(goal)) {
    schedule.threads /= 2;
  }
  return schedule;
}

void make_fit(const Goal& goal, const Group& group, Schedule& schedule) {
  schedule.threads = std::clamp(schedule.threads / 32 * 32, 32, 1024);
  schedule.items = std::clamp(schedule.items, 1, 16);
  schedule.width = std::clamp(schedule.width, 1, widest(goal, group));
  schedule.blocks_per_sm = std::max(1, schedule.blocks_per_sm);
  schedule.parts = std::max(1, schedule.parts);
  schedule.copies = std::clamp(schedule.copies, 1, schedule.by_lane ? 32 : schedule.threads / 32);
  if (group.steps > 1) schedule.items = 1;
  if (schedule.merge == Merge::kMatch && !group.counts()) schedule.merge = Merge::kNone;
  const std::int64_t limit = shared_limit(goal);
  while (schedule.copies > 1 && shared_bytes(group, schedule) > limit) schedule.copies /= 2;
  while (schedule.parts < kMostParts && shared_bytes(group, schedule) > limit) schedule.parts *= 2;
  if (shared_bytes(group, schedule) > limit) schedule.tables = false;
  if (schedule.tables) return;
  schedule.parts = 1;
  schedule.copies = 1;
}

}  // namespace hone::schedules::histogram
