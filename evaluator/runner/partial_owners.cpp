// Which blocks of a launch write a byte: from what the first blocks write, and by trial.
#include <algorithm>
#include <utility>

#include "evaluator/runner/byte_ranges.h"
#include "evaluator/runner/partial_run.h"

namespace hone::runner {
namespace {

constexpr std::uint64_t kMostLookedThrough = 1 << 22;  // blocks
constexpr std::size_t kMostPieces = 4096;           // ranges of one block that are looked through
constexpr std::size_t kMostOwners = 1024;           // blocks that add to one element
constexpr std::uint64_t kMostNeighbours = 1 << 17;  // that are asked whether they do
constexpr std::size_t kOwnersTried = 8;             // of those, by trial

}  // namespace

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
  if (adds_to(buffer, one)) return all_that_add(launch, buffer, offset, *found);
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
  // Far blocks may come round to the same place.
  const std::uint64_t n = blocks(launch);
  for (const std::uint64_t block : {n / 2, n / 3, n - 1})
    if (!as_laid_out(launch, buffer, block)) return {};
  std::ranges::sort(all.blocks);
  return all;
}

}  // namespace hone::runner
