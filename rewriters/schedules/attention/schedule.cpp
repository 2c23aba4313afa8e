#include "rewriters/schedules/attention/schedule.h"

#include <algorithm>
#include <tuple>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/attention/hopper.h"
#include "rewriters/schedules/attention/tile.h"
#include "rewriters/schedules/nests.h"
#include "rewriters/schedules/space.h"

namespace hone::schedules::attention {
namespace {

constexpr Pipe kPipes[] = {Pipe::kWgmmaBulk, Pipe::kMma, Pipe::kFma, Pipe::kTf32x3, Pipe::kTf32};
constexpr int kMostRegisters = 255;
constexpr int kBulkKeys[] = {176, 160, 128, 96, 64, 32};     // of wgmma-bulk, the most first
constexpr std::int64_t kNearBytes = std::int64_t{24} << 20;  // of half an L2

bool is_half(ScalarType type) { return type == ScalarType::kF16 || type == ScalarType::kBf16; }

bool all_half(const Attention& a) {
  return is_half(a.query.type) && a.query.type == a.key.type && a.query.type == a.values.type;
}

int rounded_up(std::int64_t value, int to) { return static_cast<int>(ceil_divide(value, to)) * to; }

std::int64_t shared_limit(const Goal& goal) {
  return goal.context == nullptr ? 227 * 1024 : goal.context->target.shared_per_block_optin;
}

MathLevel allowed_math(const Goal& goal) {
  const bool known = goal.context != nullptr && goal.context->task != nullptr;
  return known ? goal.context->task->math : MathLevel::kReassociate;
}

bool fits(const Attention& a, const Goal& goal, const Schedule& s) {
  if (s.pipe == Pipe::kWgmmaBulk)
    return registers_of(a, s) <= (s.rows == 64 ? 248 : role_registers(s.rows).second) &&
           shared_bytes(a, s) <= shared_limit(goal);
  return s.threads() <= 512 && registers_of(a, s) <= kMostRegisters &&
         s.threads() * rounded_up(registers_of(a, s), 8) <= 65536 &&
         shared_bytes(a, s) <= shared_limit(goal);
}

void repair_wgmma_bulk(const Attention& a, const Goal& goal, Schedule& s) {
  s.warp_rows = 16;
  s.query_in_registers = false;
  s.rows = std::min(s.rows, 192);
  s.stages = std::max(s.stages, 2);
  // Blocks of a cluster have to need the same tiles.
  if (!a.bounds.empty()) s.cluster = 1;
  while (!fits(a, goal, s) && s.stages > 2) --s.stages;
  const auto fewer_keys = [&](int least) {
    while (!fits(a, goal, s) && s.keys > least)
      s.keys = *std::ranges::find_if(kBulkKeys, [&](int keys) { return keys < s.keys; });
  };
  fewer_keys(64);
  while (!fits(a, goal, s) && s.rows > 64) s.rows -= 64;
  fewer_keys(32);
  s.turns = s.turns && s.rows > 64;
}

/// Less of one thing after the other, what costs least first.
void repair(const Attention& a, const Goal& goal, Schedule& s) {
  if (s.pipe == Pipe::kWgmmaBulk) return repair_wgmma_bulk(a, goal, s);
  s.turns = s.persistent = false;
  const bool fma = s.pipe == Pipe::kFma;
  if (s.pipe != Pipe::kMma) s.query_in_registers = false;
  if (fma) s.warp_rows = 16;
  if (s.warp_rows > 16 && s.rows % 32 != 0) s.warp_rows = 16;
  if (!fits(a, goal, s)) s.query_in_registers = false;
  while (!fits(a, goal, s) && s.stages > 2) --s.stages;
  while (!fits(a, goal, s) && s.keys > 32) s.keys /= 2;
  if (!fits(a, goal, s)) s.stages = 1;
  if (!fits(a, goal, s)) s.warp_rows = 16;
  while (!fits(a, goal, s) && s.rows > 64) s.rows = s.rows == 192 ? 128 : s.rows / 2;
  while (!fits(a, goal, s) && s.keys > 16) s.keys /= 2;
}

}  // namespace

std::string_view name_of(Pipe pipe) {
  constexpr std::string_view kNames[] = {"fma", "mma", "tf32x3", "tf32", "wgmma-bulk"};
  return kNames[static_cast<std::size_t>(pipe)];
}

bool last_are_longest(const Attention& a) {
  return std::ranges::any_of(a.bounds,
                             [](const Bound& bound) { return bound.key < 0 && bound.query > 0; });
}

MathLevel math_of(const Attention& a, Pipe pipe) {
  switch (pipe) {
    case Pipe::kMma:
    case Pipe::kWgmmaBulk:
      // Rounding the weights costs no more than rounding the output.
      return a.nest->type == a.values.type ? MathLevel::kReassociate : MathLevel::kReduced;
    case Pipe::kTf32x3:
      return MathLevel::kTf32x3;
    case Pipe::kTf32:
      return MathLevel::kTf32;
    default:
      return MathLevel::kReassociate;
  }
}

int padded_depth(const Attention& a, Pipe pipe) {
  if (pipe == Pipe::kFma) return static_cast<int>(a.depth);
  return rounded_up(a.depth, pipe == Pipe::kWgmmaBulk ? 64 : pipe == Pipe::kMma ? 16 : 8);
}

int padded_columns(const Attention& a, Pipe pipe) {
  return rounded_up(a.columns, pipe == Pipe::kWgmmaBulk ? 64 : 16);
}

std::pair<int, int> role_registers(int rows) {
  switch (rows / 64) {
    case 1:
      return {0, 0};
    case 2:
      return {40, 232};
    default:
      return {32, 160};
  }
}

std::int64_t shared_bytes(const Attention& a, const Schedule& s) {
  if (s.pipe == Pipe::kWgmmaBulk) {
    const std::int64_t depth = padded_depth(a, s.pipe), columns = padded_columns(a, s.pipe);
    // Each tile begins at a multiple of 1024; then barriers.
    return 2 * (s.rows * depth + s.stages * s.keys * (depth + columns)) + 16 * (1 + 2 * s.stages);
  }
  const std::int64_t tiles =
      tile_of(a, s, Which::kQuery).bytes() +
      s.stages * (tile_of(a, s, Which::kKey).bytes() + tile_of(a, s, Which::kValues).bytes());
  // Weights go through shared memory, a row of them for each key.
  return tiles + (s.pipe == Pipe::kFma ? std::int64_t{s.keys} * (s.rows + 4) * 4 : 0);
}

int registers_of(const Attention& a, const Schedule& s) {
  const int depth = padded_depth(a, s.pipe), columns = padded_columns(a, s.pipe);
  if (s.pipe == Pipe::kFma) {
    const int per_row = columns / 16 + s.keys / 16;
    return Schedule::kFmaRows * (per_row + 3) + s.keys / 8 + 48;
  }
  if (s.pipe == Pipe::kWgmmaBulk) return columns / 2 + s.keys / 2 + s.keys / 4 + 32;
  const int blocks = s.warp_rows / 16;
  const int query = s.query_in_registers ? blocks * depth / 4 : blocks * 4;
  const int scores = blocks * s.keys / 2;
  const int fixed = blocks * columns / 2 + blocks * 4 + 32;
  switch (s.pipe) {
    case Pipe::kTf32x3:
      return fixed + 2 * scores + 4 * blocks + 32;
    case Pipe::kTf32:
      return fixed + scores + query + 16;
    default:
      return fixed + scores + query;
  }
}

namespace {

bool can(const Attention& a, const Goal& goal, Pipe pipe) {
  const int capability = goal.context == nullptr ? 90 : goal.context->target.compute_capability;
  if (math_of(a, pipe) > allowed_math(goal)) return false;
  switch (pipe) {
    case Pipe::kFma:
      return true;
    case Pipe::kMma:
      return capability >= 80 && all_half(a);
    case Pipe::kTf32:
    case Pipe::kTf32x3:
      return capability >= 80 && !all_half(a);
    case Pipe::kWgmmaBulk:
      return capability == 90 && has_bulk_operands(a);
  }
  return false;
}

/// Its rows of 128 bytes would be half empty for small heads. That is no reason to refuse a recipe
/// there: it is checked at small sizes.
bool pays(const Attention& a, Pipe pipe) {
  return pipe != Pipe::kWgmmaBulk || std::min(a.depth, a.columns) > 32;
}

}  // namespace

std::vector<Pipe> pipes_for(const Attention& a, const Goal& goal) {
  std::vector<Pipe> pipes;
  for (const Pipe pipe : kPipes)
    if (can(a, goal, pipe) && pays(a, pipe)) pipes.push_back(pipe);
  return pipes;
}

std::vector<Parameter> space_of(const Attention& a, const Goal& goal) {
  std::vector<Parameter> space;
  const auto add = [&](std::string name, std::vector<ParameterValue> domain) {
    space.push_back({std::move(name), std::move(domain)});
  };
  const auto numbers = [](std::initializer_list<std::int64_t> values) {
    return std::vector<ParameterValue>(values.begin(), values.end());
  };
  std::vector<ParameterValue> pipes;
  bool tensor = false;
  for (const Pipe pipe : pipes_for(a, goal)) {
    pipes.emplace_back(std::string(name_of(pipe)));
    tensor = tensor || pipe != Pipe::kFma;
  }
  add("pipe", pipes);
  const bool bulk =
      std::ranges::find(pipes, ParameterValue(std::string("wgmma-bulk"))) != pipes.end();
  add("rows", numbers({64, 128, 192, 256}));
  add("keys", bulk ? numbers({32, 64, 96, 128, 160, 176}) : numbers({32, 64, 128}));
  add("stages", numbers({1, 2, 3}));
  if (tensor) add("warp_rows", numbers({16, 32}));
  if (bulk) {
    add("turns", {std::string("no"), std::string("yes")});
    add("persistent", {std::string("no"), std::string("yes")});
    if (last_are_longest(a)) add("together", numbers({1, 2, 4, 8, 16, 32}));
    if (a.bounds.empty()) add("cluster", numbers({1, 2}));
  }
  if (all_half(a)) add("query", {std::string("registers"), std::string("shared")});
  return space;
}

namespace {

/// As many queries a block as `most`, or fewer where some multiprocessors would have none and so
/// the busiest one does fewer queries, in whole rounds of blocks.
int rows_for(const Attention& a, const Goal& goal, int most) {
  const std::int64_t multiprocessors =
      goal.context == nullptr ? 132 : std::max(1, goal.context->target.sm_count);
  const auto blocks = [&](int rows) { return ceil_divide(a.queries, rows) * a.batches; };
  const auto busiest = [&](int rows) { return ceil_divide(blocks(rows), multiprocessors) * rows; };
  int best = most;
  if (blocks(most) >= multiprocessors) return best;
  for (int rows = most - 64; rows >= 64; rows -= 64)
    if (busiest(rows) < busiest(best)) best = rows;
  return best;
}

/// What was fastest on an H200 for heads of 64 and of 128.
Schedule usual(const Attention& a, const Goal& goal, Pipe pipe) {
  Schedule s{.pipe = pipe};
  const bool large = padded_columns(a, pipe) > 64;
  if (pipe == Pipe::kWgmmaBulk) {
    s.rows = rows_for(a, goal, large ? 128 : 192);
    s.keys = 128;
    s.turns = true;
    // Tiles whose lengths differ are shared out best one at a time.
    s.persistent = !last_are_longest(a);
    // Keys and values of so many stay in the L2 while all their queries are done.
    const std::int64_t bytes = a.keys * (a.depth + a.columns) * 2;
    while (s.together > 1 && s.together * bytes > kNearBytes) s.together /= 2;
    while (s.together < 32 && 2 * s.together * bytes <= kNearBytes) s.together *= 2;
  } else if (pipe == Pipe::kMma) {
    s.warp_rows = 32;
    s.query_in_registers = !large;
    s.stages = large ? 1 : 2;
  } else {
    s.rows = 64;
    s.keys = pipe == Pipe::kFma ? 64 : 32;
  }
  return s;
}

/// That, and the same with other tiles.
std::vector<Schedule> usual_ones(const Attention& a, const Goal& goal, Pipe pipe) {
  const Schedule first = usual(a, goal, pipe);
  std::vector<Schedule> asked(4, first), made;
  asked[1].rows = first.rows == 64 ? 128 : 64;
  asked[2].keys = first.keys * 2;
  asked[3].keys = first.keys / 2;
  if (pipe == Pipe::kWgmmaBulk) {
    asked[1].rows = first.rows == 128 ? 192 : 128;
    asked[2].keys = first.rows == 128 ? 176 : 96;
    asked[3] = first;
    if (a.bounds.empty()) {
      asked[3].cluster = 2;
    } else if (first.rows == 64) {  // one warp group has no turns
      asked[3].rows = 192;
    } else {
      asked[3].turns = false;
    }
  }
  const auto key = [](const Schedule& s) {
    return std::tuple(s.rows, s.keys, s.stages, s.warp_rows, s.query_in_registers, s.turns,
                      s.persistent, s.together, s.cluster);
  };
  for (Schedule& s : asked) {
    repair(a, goal, s);
    const auto same = [&](const Schedule& other) { return key(other) == key(s); };
    if (std::ranges::none_of(made, same)) made.push_back(s);
  }
  return made;
}

}  // namespace

std::vector<std::vector<std::size_t>> first_guesses(const Attention& a, const Goal& goal,
                                                    const std::vector<Parameter>& space) {
  std::vector<Schedule> schedules;
  for (const Pipe pipe : pipes_for(a, goal))
    for (const Schedule& s : usual_ones(a, goal, pipe)) schedules.push_back(s);
  const auto point_at = [&](const Schedule& s) {
    return point_of(space, [&](const std::string& name) -> ParameterValue {
      if (name == "pipe") return std::string(name_of(s.pipe));
      if (name == "rows") return std::int64_t{s.rows};
      if (name == "keys") return std::int64_t{s.keys};
      if (name == "stages") return std::int64_t{s.stages};
      if (name == "warp_rows") return std::int64_t{s.warp_rows};
      if (name == "turns") return std::string(s.turns ? "yes" : "no");
      if (name == "together") return std::int64_t{s.together};
      if (name == "cluster") return std::int64_t{s.cluster};
      if (name == "persistent") return std::string(s.persistent ? "yes" : "no");
      return std::string(s.query_in_registers ? "registers" : "shared");
    });
  };
  std::vector<std::vector<std::size_t>> points;
  for (const Schedule& s : schedules)
    if (auto point = point_at(s); std::ranges::find(points, point) == points.end())
      points.push_back(std::move(point));
  return points;
}

Result<Schedule> schedule_of(const Attention& a, const Goal& goal, const Step& step) {
  Schedule s;
  const std::string asked = step.string_param("pipe", "fma");
  const auto pipe = std::ranges::find_if(kPipes, [&](Pipe p) { return name_of(p) == asked; });
  if (pipe == std::end(kPipes)) return refused("attention: no such pipe: " + asked);
  if (!can(a, goal, *pipe)) return refused("attention: pipe " + asked + " cannot do this");
  s.pipe = *pipe;
  const auto among = [&](const char* name, std::initializer_list<int> all, int otherwise) {
    const std::int64_t value = step.int_param(name, otherwise);
    return std::ranges::find(all, value) == all.end() ? otherwise : static_cast<int>(value);
  };
  s.rows = among("rows", {64, 128, 192, 256}, 128);
  s.keys = s.pipe == Pipe::kWgmmaBulk ? among("keys", {32, 64, 96, 128, 160, 176}, 128)
                                      : among("keys", {16, 32, 64, 128}, 64);
  s.stages = among("stages", {1, 2, 3, 4}, 2);
  s.warp_rows = among("warp_rows", {16, 32}, 16);
  s.turns = step.string_param("turns", "no") == "yes";
  s.persistent = step.string_param("persistent", "no") == "yes";
  s.cluster = among("cluster", {1, 2}, 1);
  s.together = among("together", {1, 2, 4, 8, 16, 32}, 8);
  s.query_in_registers = step.string_param("query", "shared") == "registers";
  repair(a, goal, s);
  if (!fits(a, goal, s)) {
    return refused("attention: too many registers or too much shared memory");
  }
  if (ceil_divide(a.queries, s.rows) * a.batches > INT32_MAX) {
    return refused("attention: more blocks than a grid has");
  }
  return s;
}

}  // namespace hone::schedules::attention
