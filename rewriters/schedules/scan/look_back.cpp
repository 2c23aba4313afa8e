// A single pass over long rows: each block has a tile, tells what it comes to, and looks back at
// what those before it told (the idea: Merrill and Garland, "Single-pass parallel prefix scan with
// decoupled look-back", 2016). Here every 32 tiles make a group, every 32 groups a larger one, and
// the last tile of a group tells what the group comes to. So a tile waits for at most 31 sums of
// each level, none of which waits for a chain of others; and since sums always come about in the
// same order, the result is the same bits in every run, as it is not where a block takes what
// happens to be there.
//
// Tiles are taken by a ticket: those before have begun, in whatever order blocks start.
#include <fmt/format.h>

#include <sstream>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/printing/text.h"
#include "rewriters/schedules/scan/scan_printer.h"

namespace hone::schedules::scan {
namespace {

constexpr std::int64_t kGroup = 32;

/// Levels of groups, tiles themselves the first: those that some tile has neighbours in.
int levels_of(std::int64_t tiles) {
  int levels = 1;
  for (std::int64_t last = (tiles - 1) / kGroup; last > 0; last /= kGroup) ++levels;
  return levels;
}

/// Sums that the tiles of a row tell.
std::int64_t sums_of(std::int64_t tiles) {
  std::int64_t sums = 0;
  for (int level = levels_of(tiles); level > 0; --level, tiles /= kGroup) sums += tiles;
  return sums;
}

/// 8-byte words of a told value: 4 bytes of it are in each.
std::int64_t words_of(const std::string& c_type, bool product) {
  return (c_type == "double" || c_type == "long long" ? 2 : 1) + (product ? 1 : 0);
}

constexpr const char* kTell =
    R"(// A value for other blocks, who have seen zeros there: 4 bytes in each word, beside a one.
template <typename T>
__device__ __forceinline__ void $tell(volatile unsigned long long* to, T value) {
#pragma unroll
  for (int w = 0; w < int(sizeof(T) / 4); ++w) {
    to[w] = 1ull << 32 | reinterpret_cast<const unsigned*>(&value)[w];
  }
}

template <typename T>
__device__ __forceinline__ bool $told(const volatile unsigned long long* from, T& value) {
  bool all = true;
#pragma unroll
  for (int w = 0; w < int(sizeof(T) / 4); ++w) {
    const unsigned long long word = from[w];
    reinterpret_cast<unsigned*>(&value)[w] = static_cast<unsigned>(word);
    all = all && word >> 32 != 0;
  }
  return all;
}

)";

constexpr const char* kClear =
    R"(// Nothing is told yet, and no tile taken.
__global__ void __launch_bounds__(256) $clear(long long* __restrict__ $state) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < $words) $state[i] = 0;
}

)";

constexpr const char* kLookBack =
    R"(// What comes before a tile of the row, for a whole warp; tells others `own`, what the tile comes
// to. Of each level (tiles, groups of 32, groups of 32 groups) the warp takes those before it in
// its own group of the next level. The last in a group tells what that comes to.
__device__ __forceinline__ $type $name(volatile unsigned long long* state, int index, $type own) {
  constexpr int kTiles = $tiles, kLevels = $levels, kWords = $words;
  const int lane = threadIdx.x % 32;
  if (lane == 0) $tell(state + index * kWords, own);
  $type parts[kLevels];
  bool ready[kLevels];
#pragma unroll
  for (int level = 0, at = index, offset = 0, count = kTiles; level < kLevels; ++level) {
    parts[level] = $start;
    const int place = offset + at / 32 * 32 + lane;
    ready[level] = lane >= at % 32 || $told(state + place * kWords, parts[level]);
    offset += count;
    count /= 32;
    at /= 32;
  }
  $type before = $start, group = own;
  bool ends = true;  // the group
#pragma unroll
  for (int level = 0, at = index, offset = 0, count = kTiles; level < kLevels; ++level) {
    const int place = offset + at / 32 * 32 + lane;
    while (!ready[level]) ready[level] = $told(state + place * kWords, parts[level]);
    __syncwarp();
    $type part = parts[level];
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const $type other = $other;
      part = $fold_other;
    }
    before = $fold_before;
    group = $fold_group;
    ends = ends && at % 32 == 31;
    offset += count;
    count /= 32;
    at /= 32;
    if (level + 1 < kLevels && ends && lane == 0) $tell(state + (offset + at) * kWords, group);
  }
  return before;
}

)";

std::string look_back_name(const std::string& prefix, std::size_t i) {
  return fmt::format("{}look_back{}", prefix, i == 0 ? "" : std::to_string(i + 1));
}

std::string range_look_back(const std::string& prefix) { return prefix + "look_back_for_range"; }

}  // namespace

std::int64_t tiles_of(const Plan& plan, const Schedule& schedule) {
  const std::int64_t tile = std::int64_t{schedule.team.threads} * schedule.items * schedule.width;
  return ceil_divide(plan.length, tile);
}

std::string state_buffer(const std::string& prefix) { return prefix + "state"; }

std::int64_t words_of_state(nest::Nodes& nodes, const Plan& plan, const Schedule& schedule) {
  std::int64_t words = 1;  // the ticket
  Names names;
  for (const Running& one : plan.running) {
    const Accumulator like(nodes, one.node, one.each, names);
    const bool product = is_product(one.op, compute_type(one.each->type));
    const std::int64_t sums = plan.rows * sums_of(tiles_of(plan, schedule));
    words += sums * (words_of(like.type, product) + (product ? 1 : 0));
  }
  return words;
}

void ScanPrinter::print_functions_of_look_back(Generated& generated) {
  const std::string& prefix = helpers_.prefix();
  const std::int64_t tiles = tiles_of(plan_, schedule_);
  const std::int64_t words = words_of_state(nodes_, plan_, schedule_);
  std::string text = filled(kTell, {{"tell", prefix + "tell"}, {"told", prefix + "told"}});
  if (has_products()) text += tell_products(prefix);
  Holes holes = {{"tiles", std::to_string(tiles)},
                 {"levels", std::to_string(levels_of(tiles))},
                 {"tell", prefix + "tell"},
                 {"told", prefix + "told"}};
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Carried& one = carried_[i];
    holes["type"] = one.c_type;
    holes["words"] = fmt::format("sizeof({}) / 4{}", one.element, one.is_product() ? " + 1" : "");
    holes["name"] = look_back_name(prefix, i);
    holes["start"] = one.start;
    holes["other"] = one.shuffled("_xor", "part, step");
    holes["fold_other"] = one.fold("part", "other");
    holes["fold_before"] = one.fold("part", "before");
    holes["fold_group"] = one.fold("part", "group");
    text += filled(kLookBack, holes);
  }
  if (has_products()) {
    holes["type"] = "int";
    holes["words"] = "1";
    holes["name"] = range_look_back(prefix);
    holes["start"] = std::to_string(kNeverLeaves);
    holes["other"] = "__shfl_xor_sync(0xffffffffu, part, step)";
    for (const char* other : {"other", "before", "group"})
      holes[fmt::format("fold_{}", other)] = fmt::format("min(part, {})", other);
    text += filled(kLookBack, holes);
  }
  const std::string clear = prefix + "clear_kernel";
  text += filled(kClear, {{"clear", clear}, {"state", state_}, {"words", std::to_string(words)}});
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) code_.line(line);
  GeneratedLaunch launch;
  launch.kernel = clear;
  launch.grid = {(words + 255) / 256};
  launch.block = {256};
  launch.args = {state_};
  generated.launches.push_back(std::move(launch));
}

void ScanPrinter::print_ticket() {
  code_.comment("Tiles in the order in which blocks begin: those before are at work, or done.");
  if (plan_.rows > 1)
    code_.comment(
        "Tickets go round the rows, so a tile's predecessor began kRows tickets earlier.");
  code_.line("__shared__ int ticket;");
  code_.line(
      fmt::format("if (lane == 0) ticket = static_cast<int>(atomicAdd("
                  "reinterpret_cast<unsigned long long*>({}), 1ull));",
                  state_));
  code_.line("__syncthreads();");
  code_.line(plan_.rows > 1 ? "const int row = ticket % kRows;" : "const int row = 0;");
  code_.line(plan_.rows > 1 ? "const int index = ticket / kRows;" : "const int index = ticket;");
  code_.line("const int tile = index * kTile;");
}

void ScanPrinter::print_state() {
  code_.line(
      fmt::format("volatile unsigned long long* state = "
                  "reinterpret_cast<volatile unsigned long long*>({}) + 1;",
                  state_));
}

/// Of sums of which a row has `words`, the row's own; `first`: where those of all rows begin.
std::string ScanPrinter::state_at(std::int64_t first, std::int64_t words) const {
  std::string place = first > 0 ? fmt::format("state + {}", first) : "state";
  if (plan_.rows > 1) place += fmt::format(" + row * {}", words);
  return place;
}

void ScanPrinter::print_look_back() {
  std::vector<std::string> shared;
  for (const Carried& one : carried_) {
    shared.push_back(names_.fresh(one.carry + "_here"));
    code_.line(fmt::format("__shared__ {} {};", one.c_type, shared.back()));
  }
  code_.comment("The first warp tells what the tile comes to, and gathers what comes before it.");
  for (const Carried& one : carried_) {
    code_.line(fmt::format("{} = {};", one.carry, one.shuffled("", one.all + ", kWarps - 1")));
  }
  code_.open("if (lane < 32)");
  print_state();
  const std::int64_t sums = sums_of(tiles_of(plan_, schedule_));
  std::int64_t first = 0;
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Carried& one = carried_[i];
    const std::int64_t words = words_of(one.element, one.is_product());
    code_.line(fmt::format("{0} = {1}({2}, index, {0});", one.carry,
                           look_back_name(helpers_.prefix(), i), state_at(first, sums * words)));
    code_.line(fmt::format("if (lane == 0) {} = {};", shared[i], one.carry));
    first += plan_.rows * sums * words;
  }
  code_.close();
  code_.line("__syncthreads();");
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    code_.line(fmt::format("{} = {};", carried_[i].carry, shared[i]));
  }
}

/// Tiles tell where their products leave the range once they know what comes before them: a tile
/// tells its own place before it waits.
void ScanPrinter::print_look_back_for_range() {
  const std::int64_t sums = sums_of(tiles_of(plan_, schedule_));
  std::int64_t first = 0;
  for (const Carried& one : carried_)
    first += plan_.rows * sums * words_of(one.element, one.is_product());
  std::vector<std::string> before;
  for (const Carried& one : carried_) {
    before.push_back(names_.fresh(one.left + "_before"));
    if (one.is_product()) code_.line(fmt::format("__shared__ int {};", before.back()));
  }
  code_.open("if (lane < 32)");
  print_state();
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Carried& one = carried_[i];
    if (!one.is_product()) continue;
    const std::string told = names_.fresh("told");
    code_.line(fmt::format("const int {} = {}({}, index, {});", told,
                           range_look_back(helpers_.prefix()), state_at(first, sums), one.left));
    code_.line(fmt::format("if (lane == 0) {} = {};", before[i], told));
    first += plan_.rows * sums;
  }
  code_.close();
  code_.line("__syncthreads();");
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Carried& one = carried_[i];
    if (one.is_product()) code_.line(fmt::format("{0} = min({0}, {1});", one.left, before[i]));
  }
}

}  // namespace hone::schedules::scan
