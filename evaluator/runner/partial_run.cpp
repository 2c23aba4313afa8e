#include "evaluator/runner/partial_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "evaluator/check/atomics.h"
#include "evaluator/runner/sample_launches.h"

namespace hone::runner {
namespace {

using emulator::ByteRange;
using Ranges = PartialRun::Ranges;

constexpr std::uint64_t kSector = 32;  // [B]
/// What a byte of host memory that a block made counts as, in warp-instructions: a block of a
/// grid-stride loop touches whole buffers.
constexpr double kUnitsPerByte = 0.02;
constexpr double kUnitsPerElement = 1;                 // of an input that was made
constexpr std::uint64_t kMostLookedThrough = 1 << 22;  // blocks
constexpr std::size_t kMostPieces = 4096;           // ranges of one block that are looked through
constexpr std::size_t kMostOwners = 1024;           // blocks that add to one element
constexpr std::uint64_t kMostNeighbours = 1 << 17;  // that are asked whether they do
constexpr std::size_t kOwnersTried = 8;             // of those, by trial
constexpr double kUnitsForGroups = 20e6;            // to find them, and of one block of them
constexpr std::size_t kMostTrials = 2000;           // of one program

bool holds(const Ranges& ranges, std::uint64_t offset) {
  const auto after = std::ranges::upper_bound(ranges, offset, {}, &ByteRange::begin);
  return after != ranges.begin() && offset < std::prev(after)->end;
}

Ranges moved(Ranges ranges, std::int64_t by) {
  for (ByteRange& range : ranges) {
    range.begin += static_cast<std::uint64_t>(by);
    range.end += static_cast<std::uint64_t>(by);
  }
  return ranges;
}

std::int64_t distance(const Ranges& from, const Ranges& to) {
  return static_cast<std::int64_t>(to.front().begin) -
         static_cast<std::int64_t>(from.front().begin);
}

Ranges united(const Ranges& a, const Ranges& b) {
  Ranges all;
  std::ranges::merge(a, b, std::back_inserter(all), {}, &ByteRange::begin, &ByteRange::begin);
  Ranges out;
  for (const ByteRange& range : all) {
    if (!out.empty() && range.begin <= out.back().end)
      out.back().end = std::max(out.back().end, range.end);
    else
      out.push_back(range);
  }
  return out;
}

/// What is in `a` and not in `b`.
Ranges without(const Ranges& a, const Ranges& b) {
  Ranges out;
  std::size_t k = 0;
  for (ByteRange range : a) {
    while (k < b.size() && b[k].end <= range.begin) ++k;
    for (std::size_t i = k; i < b.size() && b[i].begin < range.end; ++i) {
      if (range.begin < b[i].begin) out.push_back({range.begin, b[i].begin});
      range.begin = b[i].end;
    }
    if (range.begin < range.end) out.push_back(range);
  }
  return out;
}

/// Grown to whole sectors.
Ranges in_sectors(const Ranges& ranges) {
  Ranges out;
  for (const ByteRange& range : ranges) {
    const ByteRange whole = {range.begin / kSector * kSector,
                             (range.end + kSector - 1) / kSector * kSector};
    if (!out.empty() && whole.begin <= out.back().end)
      out.back().end = std::max(out.back().end, whole.end);
    else
      out.push_back(whole);
  }
  return out;
}

}  // namespace

PartialRun::PartialRun(const protocol::Runnable& runnable, const emulator::Module& module,
                       std::uint64_t seed, double most_units, std::shared_ptr<SharedInputs> inputs,
                       std::uint64_t schedule)
    : runnable_(runnable),
      module_(module),
      seed_(seed),
      inputs_(std::move(inputs)),
      schedule_(schedule),
      units_left_(most_units),
      // What is there before a run is no trace of what the run wrote.
      trials_count_(
          runnable.program.launches.size() == 1 && !check::uses_atomics(runnable.compiled.ptx) &&
          std::ranges::none_of(runnable.program.buffers, [](const ConcreteBuffer& buffer) {
            return buffer.role == Role::kInOut;
          })) {}

Result<std::unique_ptr<PartialRun>> PartialRun::load(const protocol::Runnable& runnable,
                                                     const emulator::Module& module,
                                                     std::uint64_t seed, double most_units,
                                                     std::shared_ptr<SharedInputs> inputs,
                                                     std::uint64_t schedule) {
  std::unique_ptr<PartialRun> run(
      new PartialRun(runnable, module, seed, most_units, std::move(inputs), schedule));
  auto program = EmulatedProgram::load(runnable, seed, EmulatedProgram::Outputs::kUninitialised, 0,
                                       run->inputs_);
  if (!program) return std::unexpected(program.error());
  run->program_ = std::move(*program);
  run->there_.resize(runnable.program.buffers.size());
  run->made_.resize(runnable.program.buffers.size());
  if (most_units > 0) run->find_groups();
  return run;
}

void PartialRun::find_groups() {
  const auto& program = runnable_.program;
  if (program.launches.size() != 1 || runnable_.compiled.ptx.find("atom.") == std::string::npos ||
      std::ranges::any_of(program.buffers,
                          [](const ConcreteBuffer& buffer) { return buffer.role == Role::kInOut; }))
    return;
  BlockGroups groups(grid(0), [&](std::uint64_t block) -> std::vector<std::uint64_t> {
    auto fresh =
        EmulatedProgram::load(runnable_, seed_, EmulatedProgram::Outputs::kUnwritten, 0, inputs_);
    if (!fresh || spent_units_ > kUnitsForGroups) return {};
    const std::vector<std::uint64_t> one = {block};
    emulator::RunOptions options;
    options.check_initialised = options.check_races = false;
    options.share_counters = true;
    options.max_warp_instructions = static_cast<std::uint64_t>(kUnitsForGroups);
    options.blocks = &one;
    const auto report = (*fresh)->launch(module_, 0, options);
    spent_units_ += units_of(report.counters);
    return report.verdict == Verdict::kOk && !report.polled ? report.counted
                                                            : std::vector<std::uint64_t>();
  });
  units_left_ -= spent_units_;
  const auto extents = groups.extents();
  if (groups.size() < 2 || extents[0] * extents[1] * extents[2] < 2) return;
  groups_ = std::move(groups);
  trials_count_ = true;  // nobody else counts with their words
}

bool PartialRun::fail(std::string why, Verdict verdict) {
  if (why_.empty()) {
    why_ = std::move(why);
    verdict_ = verdict;
  }
  return false;
}

std::array<std::uint64_t, 3> PartialRun::grid(std::size_t launch) const {
  if (groups_) return groups_->extents();
  std::array<std::uint64_t, 3> out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = static_cast<std::uint64_t>(runnable_.program.launches[launch].grid[i]);
  return out;
}

std::uint64_t PartialRun::blocks(std::size_t launch) const {
  const auto g = grid(launch);
  return g[0] * g[1] * g[2];
}

bool PartialRun::launch(EmulatedProgram& program, BlockId block, Trial* trial) {
  if (units_left_ <= 0) {
    is_too_long_ = true;
    return fail("it takes too long to emulate");
  }
  const std::vector<std::uint64_t> one =
      groups_ ? groups_->members(block.second) : std::vector<std::uint64_t>{block.second};
  emulator::RunOptions options;
  // What a trial reads may never have been written; what counts must not hang on such memory.
  options.check_initialised = options.check_races = &program == program_.get();
  options.max_warp_instructions = static_cast<std::uint64_t>(units_left_) + 1;
  options.blocks = &one;
  options.schedule_seed = schedule_;
  const std::uint64_t before = program.live_bytes(), made = inputs_->made_elements();
  const auto report = program.launch(module_, block.first, options);
  const double units = units_of(report.counters) +
                       kUnitsPerByte * static_cast<double>(program.live_bytes() - before) +
                       kUnitsPerElement * static_cast<double>(inputs_->made_elements() - made);
  units_left_ -= units;
  spent_units_ += units;
  // Which block was to write a variable, nobody looks for.
  if ((program.reads_empty_variable() && !groups_) ||
      (runnable_.program.launches.size() > 1 && program.wrote_variables()))
    return fail("its blocks or launches hand on a __device__ variable");
  if (report.verdict == Verdict::kTimeout) {
    is_too_long_ = !report.polled;
    return fail("a block waits for others or takes too long to emulate");
  }
  if (report.verdict != Verdict::kOk) {
    // A block that reads what is not there yet may fault where it never does, and so may one that
    // other blocks tell what to do. Nor is every block found that writes what is read.
    const bool unwritten = !report.findings.empty() &&
                           report.findings.front().kind == emulator::FindingKind::kUninitialised &&
                           !report.findings.front().other.starts_with("shared");
    const bool misled = unwritten || (trial != nullptr && (block.first > 0 || !trials_count_));
    return fail(report.detail, misled ? Verdict::kOk : report.verdict);
  }
  if (trial != nullptr) trial->atomics = report.counters.atomics_global > 0;
  return true;
}

const PartialRun::Trial& PartialRun::trial(BlockId block) {
  const auto known = trials_.find(block);
  if (known != trials_.end()) return known->second;
  Trial& trial = trials_[block];
  if (!why_.empty()) return trial;
  if (trials_.size() > kMostTrials) {
    fail("which blocks write an element could not be found");
    return trial;
  }
  std::unique_ptr<EmulatedProgram> fresh;
  if (!trials_count_) {
    auto loaded =
        EmulatedProgram::load(runnable_, seed_, EmulatedProgram::Outputs::kUnwritten, 0, inputs_);
    if (!loaded) {
      fail(loaded.error().message);
      return trial;
    }
    fresh = std::move(*loaded);
  }
  EmulatedProgram& program = trials_count_ ? *program_ : *fresh;
  const int buffers = static_cast<int>(runnable_.program.buffers.size());
  std::vector<Ranges> before;
  for (int i = 0; i < buffers; ++i) before.push_back(program.written(i));
  trial.ended = launch(program, block, &trial);
  if (!trial.ended) return trial;
  if (trials_count_) ran_.insert(block);
  for (int i = 0; i < buffers; ++i) {
    const auto n = static_cast<std::size_t>(i);
    if (auto ranges = without(program.written(i), before[n]); !ranges.empty())
      trial.writes[i] = std::move(ranges);
    if (auto ranges = program.touched(i); !trials_count_ && !ranges.empty())
      trial.touches[i] = std::move(ranges);
  }
  return trial;
}

bool PartialRun::writes(std::size_t launch, int buffer) {
  const std::uint64_t n = blocks(launch);
  // The first, the last and one in between: guards leave some without work.
  for (const std::uint64_t block : {std::uint64_t{0}, n / 2, n - 1})
    if (trial({launch, block}).writes.contains(buffer)) return true;
  return false;
}

int PartialRun::last_writer(int buffer) {
  const std::size_t n = runnable_.program.launches.size();
  if (n == 1) return 0;
  for (std::size_t i = n; i > 0; --i)
    if (writes(i - 1, buffer)) return static_cast<int>(i - 1);
  return -1;
}

const PartialRun::Layout& PartialRun::layout_of(std::size_t launch, int buffer) {
  const auto known = layouts_.find({launch, buffer});
  if (known != layouts_.end()) return known->second;
  Layout& layout = layouts_[{launch, buffer}];
  const auto g = grid(launch);
  const Trial& first = trial({launch, 0});
  std::uint64_t step = 1;
  for (std::size_t i = 0; i < 3; step *= g[i++]) {
    layout.strides.push_back(0);
    if (g[i] == 1) continue;
    const Trial& next = trial({launch, step});
    const auto here = first.writes.find(buffer), there = next.writes.find(buffer);
    if (here == first.writes.end() || there == next.writes.end()) {
      layout.regular = false;
      continue;
    }
    layout.strides.back() = distance(here->second, there->second);
    // The second of two may be the last, and smaller.
    layout.regular = layout.regular &&
                     (g[i] == 2 || moved(here->second, layout.strides.back()) == there->second);
  }
  return layout;
}

bool PartialRun::writes_byte(BlockId block, int buffer, std::uint64_t offset) {
  const Trial& one = trial(block);
  const auto ranges = one.writes.find(buffer);
  return ranges != one.writes.end() && holds(ranges->second, offset);
}

std::optional<std::uint64_t> PartialRun::by_strides(std::size_t launch, int buffer,
                                                    std::uint64_t offset) {
  const Layout& layout = layout_of(launch, buffer);
  const Trial& first = trial({launch, 0});
  const auto ranges = first.writes.find(buffer);
  if (ranges == first.writes.end()) return std::nullopt;
  const auto g = grid(launch);
  std::array<std::size_t, 3> by_size{0, 1, 2};
  std::ranges::sort(by_size, std::greater(),
                    [&](std::size_t i) { return std::abs(layout.strides[i]); });
  std::size_t pieces = 0;
  for (const ByteRange& range : ranges->second) {
    if (++pieces > kMostPieces) break;
    std::int64_t rest = static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(range.begin);
    std::array<std::int64_t, 3> at{};
    for (const std::size_t i : by_size) {
      if (layout.strides[i] == 0) continue;
      // Where blocks go down, up to the one that begins at or before the byte.
      const std::int64_t stride = layout.strides[i];
      const std::int64_t steps = stride > 0 ? rest / stride : (-rest - stride - 1) / -stride;
      at[i] = std::clamp<std::int64_t>(steps, 0, static_cast<std::int64_t>(g[i]) - 1);
      rest -= at[i] * layout.strides[i];
    }
    if (rest < 0 || rest >= static_cast<std::int64_t>(range.end - range.begin)) continue;
    const std::uint64_t block =
        static_cast<std::uint64_t>(at[0]) +
        g[0] * (static_cast<std::uint64_t>(at[1]) + g[1] * static_cast<std::uint64_t>(at[2]));
    if (writes_byte({launch, block}, buffer, offset)) return block;
  }
  return std::nullopt;
}

/// Blocks that count the tiles of an axis in several digits, as x = 16 * column + row does.
std::optional<std::uint64_t> PartialRun::by_digits(std::size_t launch, int buffer,
                                                   std::uint64_t offset) {
  const std::vector<Digit>& digits = digits_of(launch, buffer);
  const auto first = trial({launch, 0}).writes.find(buffer);
  if (first == trial({launch, 0}).writes.end()) return std::nullopt;
  std::size_t pieces = 0;
  for (const ByteRange& range : first->second) {
    if (++pieces > kMostPieces) break;
    std::int64_t rest = static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(range.begin);
    std::uint64_t block = 0;
    for (const Digit& digit : digits) {
      const std::int64_t steps = std::clamp<std::int64_t>(rest / digit.stride, 0, digit.values - 1);
      rest -= steps * digit.stride;
      block += static_cast<std::uint64_t>(steps) * digit.step;
    }
    const bool inside = rest >= 0 && rest < static_cast<std::int64_t>(range.end - range.begin);
    if (inside && block < blocks(launch) && writes_byte({launch, block}, buffer, offset))
      return block;
  }
  return std::nullopt;
}

/// From the largest stride down.
const std::vector<PartialRun::Digit>& PartialRun::digits_of(std::size_t launch, int buffer) {
  const auto known = digits_.find({launch, buffer});
  if (known != digits_.end()) return known->second;
  std::vector<Digit>& digits = digits_[{launch, buffer}];
  const auto g = grid(launch);
  std::uint64_t below = 1;  // blocks for a step of the axis
  for (std::size_t i = 0; i < 3; below *= g[i++]) {
    for (std::uint64_t step = 1; step < g[i];) {
      const std::uint64_t most = (g[i] + step - 1) / step;
      const auto moves = [&](std::uint64_t value) {
        return moved_to(launch, buffer, value * step * below);
      };
      const std::optional<std::int64_t> stride = moves(1);
      const auto goes_on = [&](std::uint64_t value) {
        const std::optional<std::int64_t> there = moves(value);
        return !there || *there == static_cast<std::int64_t>(value) * *stride;
      };
      if (!stride || *stride <= 0) break;
      std::uint64_t low = 1, high = 2;
      while (high < most && goes_on(high)) low = std::exchange(high, 2 * high);
      high = std::min(high, most);
      if (high == most && goes_on(most - 1)) low = most - 1;
      while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (goes_on(middle) ? low : high) = middle;
      }
      digits.push_back({step * below, *stride, static_cast<std::int64_t>(high)});
      step *= high;
    }
  }
  std::ranges::sort(digits, std::greater(), &Digit::stride);
  return digits;
}

/// How far what a block writes begins from what block 0 writes [B].
std::optional<std::int64_t> PartialRun::moved_to(std::size_t launch, int buffer,
                                                 std::uint64_t block) {
  const auto& first = trial({launch, 0}).writes;
  const auto& there = trial({launch, block}).writes;
  if (!first.contains(buffer) || !there.contains(buffer)) return std::nullopt;
  return distance(first.at(buffer), there.at(buffer));
}

/// Blocks whose numbers rise with the places that they write to.
std::optional<std::uint64_t> PartialRun::by_order(std::size_t launch, int buffer,
                                                  std::uint64_t offset) {
  std::uint64_t low = 0, high = blocks(launch);
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const Trial& one = trial({launch, middle});
    const auto ranges = one.writes.find(buffer);
    const bool after =
        one.ended && (ranges == one.writes.end() || ranges->second.front().begin > offset);
    if (!one.ended) return std::nullopt;
    (after ? high : low) = middle;
  }
  // Tiles beside each other interleave their rows: the owner is near.
  constexpr std::uint64_t kNear = 4;
  for (std::uint64_t block = low + 1; block > 0 && block + kNear > low; --block)
    if (block - 1 < blocks(launch) && writes_byte({launch, block - 1}, buffer, offset))
      return block - 1;
  return std::nullopt;
}

std::optional<std::uint64_t> PartialRun::by_trials(std::size_t launch, int buffer,
                                                   std::uint64_t offset) {
  for (auto at = trials_.lower_bound({launch, 0}); at != trials_.end() && at->first.first == launch;
       ++at)
    if (writes_byte(at->first, buffer, offset)) return at->first.second;
  return std::nullopt;
}

PartialRun::Owners PartialRun::owners(std::size_t launch, int buffer, std::uint64_t offset) {
  auto found = by_strides(launch, buffer, offset);
  if (!found) {
    found = by_layout(launch, buffer, offset);
    if (found && !writes_byte({launch, *found}, buffer, offset)) found.reset();
  }
  if (!found) found = by_trials(launch, buffer, offset);
  // To learn the digits takes some trials: once they are known, they cost less than the order.
  const bool known = digits_.contains({launch, buffer});
  if (!found && known) found = by_digits(launch, buffer, offset);
  if (!found) found = by_order(launch, buffer, offset);
  if (!found && !known) found = by_digits(launch, buffer, offset);
  if (!found) return {};
  const Trial& one = trial({launch, *found});
  if (one.atomics) return all_that_add(launch, buffer, offset, *found);
  return {
      {*found},
      *std::prev(std::ranges::upper_bound(one.writes.at(buffer), offset, {}, &ByteRange::begin))};
}

std::int64_t PartialRun::shift_of(std::size_t launch, const Layout& layout,
                                  std::uint64_t block) const {
  const auto g = grid(launch);
  std::int64_t shift = 0;
  for (std::size_t i = 0; i < 3; block /= g[i++])
    shift += layout.strides[i] * static_cast<std::int64_t>(block % g[i]);
  return shift;
}

bool PartialRun::as_laid_out(std::size_t launch, int buffer, std::uint64_t block) {
  const Layout& layout = layout_of(launch, buffer);
  const Trial& first = trial({launch, 0});
  const Trial& one = trial({launch, block});
  const auto pattern = first.writes.find(buffer), own = one.writes.find(buffer);
  if (!layout.regular || !one.ended || pattern == first.writes.end()) return false;
  const Ranges expected = moved(pattern->second, shift_of(launch, layout, block));
  const Ranges none;
  const Ranges& wrote = own == one.writes.end() ? none : own->second;
  if (wrote == expected) return true;
  const auto g = grid(launch);
  bool at_the_end = false;
  for (std::size_t i = 0; i < 3; block /= g[i++])
    at_the_end = at_the_end || (g[i] > 1 && block % g[i] == g[i] - 1);
  return at_the_end && without(wrote, expected).empty();
}

std::optional<std::uint64_t> PartialRun::by_layout(std::size_t launch, int buffer,
                                                   std::uint64_t offset) {
  const Layout& layout = layout_of(launch, buffer);
  const Trial& first = trial({launch, 0});
  const auto pattern = first.writes.find(buffer);
  const std::uint64_t n = blocks(launch);
  if (!layout.regular || pattern == first.writes.end() || n > kMostLookedThrough)
    return std::nullopt;
  for (std::uint64_t block = 0; block < n; ++block) {
    const std::int64_t within = static_cast<std::int64_t>(offset) - shift_of(launch, layout, block);
    if (within >= 0 && holds(pattern->second, static_cast<std::uint64_t>(within))) return block;
  }
  return std::nullopt;
}

bool PartialRun::is_hole(int buffer, std::uint64_t offset) {
  const int writer = last_writer(buffer);
  if (writer < 0 || whole_) return false;
  const auto launch = static_cast<std::size_t>(writer);
  if (blocks(launch) > kMostLookedThrough || by_layout(launch, buffer, offset)) return false;
  std::vector<std::uint64_t> ran;
  for (auto at = trials_.lower_bound({launch, 0}); at != trials_.end() && at->first.first == launch;
       ++at)
    ran.push_back(at->first.second);
  return std::ranges::all_of(
      ran, [&](std::uint64_t block) { return as_laid_out(launch, buffer, block); });
}

// Several blocks may add to one element: all those whose part, moved by the strides, covers it.
PartialRun::Owners PartialRun::all_that_add(std::size_t launch, int buffer, std::uint64_t offset,
                                            std::uint64_t one) {
  const Layout& layout = layout_of(launch, buffer);
  const Trial& first = trial({launch, 0});
  const auto pattern = first.writes.find(buffer);
  if (!layout.regular || pattern == first.writes.end()) return {};
  const Ranges& ranges = pattern->second;
  const auto extent = static_cast<std::int64_t>(ranges.back().end) -
                      static_cast<std::int64_t>(ranges.front().begin);
  const auto g = grid(launch);
  std::array<std::uint64_t, 3> low{}, high{};
  std::uint64_t neighbours = 1;
  for (std::size_t i = 0, rest = one; i < 3; rest /= g[i++]) {
    const std::uint64_t at = rest % g[i];
    const std::uint64_t reach =
        layout.strides[i] == 0
            ? g[i]
            : static_cast<std::uint64_t>((extent - 1) / std::abs(layout.strides[i]));
    low[i] = at - std::min(at, reach);
    high[i] = std::min(at + reach, g[i] - 1);
    neighbours *= high[i] - low[i] + 1;
    if (neighbours > kMostNeighbours) return {};
  }
  Owners all;
  all.piece = {0, ~0ULL};
  const auto byte = static_cast<std::int64_t>(offset);
  for (std::uint64_t z = low[2]; z <= high[2]; ++z) {
    for (std::uint64_t y = low[1]; y <= high[1]; ++y) {
      for (std::uint64_t x = low[0]; x <= high[0]; ++x) {
        const std::uint64_t block = x + g[0] * (y + g[1] * z);
        const std::int64_t shift = shift_of(launch, layout, block);
        if (byte < shift + static_cast<std::int64_t>(ranges.front().begin)) {
          all.piece.end =
              std::min(all.piece.end, static_cast<std::uint64_t>(shift) + ranges.front().begin);
          continue;
        }
        const auto within = static_cast<std::uint64_t>(byte - shift);
        const auto after = std::ranges::upper_bound(ranges, within, {}, &ByteRange::begin);
        const auto moved_by = [&](std::uint64_t at) {
          return static_cast<std::uint64_t>(static_cast<std::int64_t>(at) + shift);
        };
        const ByteRange& before = *std::prev(after);
        const bool covers = within < before.end;
        all.piece.begin = std::max(all.piece.begin, moved_by(covers ? before.begin : before.end));
        if (covers)
          all.piece.end = std::min(all.piece.end, moved_by(before.end));
        else if (after != ranges.end())
          all.piece.end = std::min(all.piece.end, moved_by(after->begin));
        if (covers) all.blocks.push_back(block);
        if (all.blocks.size() > kMostOwners) return {};
      }
    }
  }
  if (std::ranges::find(all.blocks, one) == all.blocks.end()) return {};
  for (std::size_t i = 0; i < all.blocks.size() && i < kOwnersTried; ++i)
    if (!as_laid_out(launch, buffer,
                     all.blocks[i * all.blocks.size() / std::min(kOwnersTried, all.blocks.size())]))
      return {};
  std::ranges::sort(all.blocks);
  return all;
}

bool PartialRun::need(std::size_t launch, int buffer, const Ranges& ranges,
                      const Ranges& only_read) {
  const ConcreteBuffer& what = runnable_.program.buffers[static_cast<std::size_t>(buffer)];
  const bool begins_empty = what.role == Role::kOut || what.role == Role::kScratch;
  std::vector<std::size_t> writers;
  for (std::size_t earlier = 0; earlier < launch; ++earlier)
    if (writes(earlier, buffer)) writers.push_back(earlier);
  for (const ByteRange& range : ranges) {
    for (std::uint64_t sector = range.begin / kSector; sector * kSector < range.end; ++sector) {
      bool found = false;
      for (const std::size_t writer : writers)
        if (!complete(writer, buffer, sector, found)) return false;
      if (!found && begins_empty && holds(only_read, sector * kSector))
        return fail(
            fmt::format("which blocks write '{}' before it is read could not be found", what.name));
    }
  }
  return true;
}

/// Several blocks may write to one sector, a number each.
bool PartialRun::complete(std::size_t launch, int buffer, std::uint64_t sector, bool& found) {
  const auto [known, is_new] = complete_[{launch, buffer}].try_emplace(sector, false);
  if (!is_new) {
    found = found || known->second;
    return true;
  }
  const ConcreteBuffer& what = runnable_.program.buffers[static_cast<std::size_t>(buffer)];
  const std::uint64_t end =
      std::min((sector + 1) * kSector, static_cast<std::uint64_t>(what.bytes()));
  for (std::uint64_t at = sector * kSector; at < end;) {
    const Owners all = owners(launch, buffer, at);
    for (const std::uint64_t block : all.blocks)
      if (!run_block({launch, block})) return false;
    if (!why_.empty()) return false;
    std::uint64_t next = at + size_of(what.type);
    if (!all.blocks.empty()) {
      found = complete_[{launch, buffer}][sector] = true;
      next = std::max(next, all.piece.end);
    }
    at = next;
  }
  return true;
}

bool PartialRun::run_block(BlockId block) {
  if (!why_.empty()) return false;
  if (!ran_.insert(block).second) return true;
  const auto [number, index] = block;
  if (runnable_.program.launches.size() > 1) {
    const Trial& before = trial(block);
    if (!before.ended) return false;
    for (const auto& [buffer, ranges] : before.touches) {
      const auto own = before.writes.find(buffer);
      const Ranges only_read =
          own == before.writes.end() ? ranges : without(ranges, in_sectors(own->second));
      if (number > 0 && !need(number, buffer, ranges, only_read)) return false;
    }
    for (const auto& [buffer, ranges] : before.touches) {
      auto& there = there_[static_cast<std::size_t>(buffer)];
      for (const ByteRange& range : ranges) {
        for (std::uint64_t at = range.begin / kSector; at * kSector < range.end; ++at) {
          const auto writer = there.find(at);
          if (writer != there.end() && writer->second > number)
            return fail("a later launch uses the same memory for something else");
        }
      }
    }
    for (const auto& [buffer, ranges] : before.writes) {
      auto& there = there_[static_cast<std::size_t>(buffer)];
      for (const ByteRange& range : ranges)
        for (std::uint64_t at = range.begin / kSector; at * kSector < range.end; ++at)
          there[at] = number;
    }
  }
  return launch(*program_, block);
}

PartialRun::Made PartialRun::make(int buffer, std::uint64_t offset) {
  if (whole_) return holds(made(buffer), offset) ? Made::kMade : Made::kNotFound;
  if (!why_.empty()) return Made::kFailed;
  auto& made = made_[static_cast<std::size_t>(buffer)];
  if (holds(made, offset)) return Made::kMade;
  const int writer = last_writer(buffer);
  if (!why_.empty()) return Made::kFailed;
  if (writer < 0) return Made::kNotFound;
  const auto launch = static_cast<std::size_t>(writer);
  const Owners all = owners(launch, buffer, offset);
  if (!why_.empty()) return Made::kFailed;
  if (all.blocks.empty()) return Made::kNotFound;
  for (const std::uint64_t block : all.blocks)
    if (!run_block({launch, block})) return Made::kFailed;
  const Trial& one = trial({launch, all.blocks.front()});
  // What many add to is final where all have added.
  made = united(made, one.atomics ? Ranges{all.piece} : one.writes.at(buffer));
  return why_.empty() ? Made::kMade : Made::kFailed;
}

bool PartialRun::run_whole(std::uint64_t most_instructions) {
  why_.clear();
  verdict_ = Verdict::kOk;
  auto program =
      EmulatedProgram::load(runnable_, seed_, EmulatedProgram::Outputs::kUninitialised, 0, inputs_);
  if (!program) return fail(program.error().message);
  program_ = std::move(*program);
  return run_all_blocks(most_instructions);
}

bool PartialRun::call_again(std::uint64_t seed, std::shared_ptr<SharedInputs> inputs,
                            std::uint64_t most_instructions) {
  seed_ = seed;
  inputs_ = std::move(inputs);
  program_->share(inputs_);
  if (auto renewed = program_->begin_again(seed); !renewed) return fail(renewed.error().message);
  if (whole_) return run_all_blocks(most_instructions);
  trials_.clear();
  layouts_.clear();
  digits_.clear();
  ran_.clear();
  complete_.clear();
  for (auto& there : there_) there.clear();
  for (auto& made : made_) made.clear();
  return true;
}

bool PartialRun::run_all_blocks(std::uint64_t most_instructions) {
  const auto report = program_->run_all(module_, most_instructions, false, schedule_);
  if (report.verdict == Verdict::kTimeout) return fail("it takes too long to emulate");
  if (report.verdict != Verdict::kOk) return fail(report.detail, report.verdict);
  whole_ = true;
  for (std::size_t i = 0; i < made_.size(); ++i) {
    const ConcreteBuffer& buffer = runnable_.program.buffers[i];
    made_[i] = program_->written(static_cast<int>(i));
    if (buffer.role == Role::kInOut) made_[i] = {{0, static_cast<std::uint64_t>(buffer.bytes())}};
  }
  return true;
}

PartialRun::Ranges PartialRun::written_by(int buffer, std::uint64_t block) {
  const int writer = last_writer(buffer);
  if (writer < 0) return {};
  const Trial& one = trial({static_cast<std::size_t>(writer), block});
  const auto ranges = one.writes.find(buffer);
  return ranges == one.writes.end() ? Ranges() : ranges->second;
}

std::uint64_t PartialRun::blocks_that_write(int buffer) {
  const int writer = last_writer(buffer);
  return writer < 0 ? 0 : blocks(static_cast<std::size_t>(writer));
}

std::vector<std::uint64_t> PartialRun::rare_blocks(int buffer) {
  const int writer = last_writer(buffer);
  if (writer < 0 || groups_) return {};
  const auto config = program_->config(static_cast<std::size_t>(writer));
  return config ? emulator::rare_blocks(module_, *config) : std::vector<std::uint64_t>();
}

PartialRun::Ranges PartialRun::made(int buffer) { return made_[static_cast<std::size_t>(buffer)]; }

}  // namespace hone::runner
