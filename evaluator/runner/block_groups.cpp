#include "evaluator/runner/block_groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hone::runner {

constexpr std::uint64_t kLongestApart = 64;  // members that are looked for far apart

BlockGroups::BlockGroups(const Grid& grid, const CountedBy& counted_by) : grid_(grid) {
  const auto own = counted_by(0);
  if (own.empty()) return;
  const auto shares = [&](std::uint64_t block) {
    const auto other = counted_by(block);
    std::vector<std::uint64_t> both;
    std::ranges::set_intersection(own, other, std::back_inserter(both));
    return !both.empty();
  };
  std::uint64_t stride = 1;
  for (std::size_t i = 0; i < 3; stride *= grid[i++]) {
    const std::uint64_t extent = grid[i];
    if (extent == 1) continue;
    if (shares(stride)) {  // neighbours: up to where?
      std::uint64_t low = 1, high = 2;
      while (high < extent && shares(high * stride)) low = std::exchange(high, 2 * high);
      high = std::min(high, extent);
      while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (shares(middle * stride) ? low : high) = middle;
      }
      along_[i] = {high, 1};
      continue;
    }
    for (std::uint64_t length = 2; length <= extent / 2 && length <= kLongestApart; ++length) {
      if (extent % length != 0 || !shares(extent / length * stride)) continue;
      along_[i] = {length, extent / length};
    }
  }
}

std::uint64_t BlockGroups::size() const {
  std::uint64_t size = 1;
  for (const Along& along : along_) size *= along.length;
  return size;
}

BlockGroups::Grid BlockGroups::extents() const {
  Grid out{};
  for (std::size_t i = 0; i < 3; ++i) out[i] = (grid_[i] + along_[i].length - 1) / along_[i].length;
  return out;
}

std::vector<std::uint64_t> BlockGroups::members(std::uint64_t group) const {
  const Grid many = extents();
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t member = 0; member < size(); ++member) {
    std::uint64_t block = 0, stride = 1, g = group, m = member;
    bool inside = true;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto [length, step] = along_[i];
      const std::uint64_t at =
          step == 1 ? g % many[i] * length + m % length : g % many[i] + m % length * step;
      inside = inside && at < grid_[i];
      block += at * stride;
      stride *= grid_[i];
      g /= many[i];
      m /= length;
    }
    if (inside) blocks.push_back(block);
  }
  std::ranges::sort(blocks);
  return blocks;
}

}  // namespace hone::runner
