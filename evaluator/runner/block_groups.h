// Which blocks of a launch count with the same words of global memory: what they do, only all of
// them together show. A tile whose sum is cut into parts, say, of which the last one adds them up.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace hone::runner {

class BlockGroups {
 public:
  using Grid = std::array<std::uint64_t, 3>;
  /// The words that a block counts with, rising (emulator::RunReport::counted).
  using CountedBy = std::function<std::vector<std::uint64_t>(std::uint64_t block)>;

  BlockGroups() = default;
  /// Looks along each dimension of the grid which blocks share a word with block 0: neighbours, or
  /// blocks that are equally far apart.
  BlockGroups(const Grid& grid, const CountedBy& counted_by);

  /// Blocks of a group; at the grid's end there may be fewer.
  [[nodiscard]] std::uint64_t size() const;
  /// How many groups there are along each dimension.
  [[nodiscard]] Grid extents() const;
  /// The blocks of group number `group`, rising; counted as blocks are, x fastest.
  [[nodiscard]] std::vector<std::uint64_t> members(std::uint64_t group) const;

 private:
  /// `length` blocks that are `step` apart.
  struct Along {
    std::uint64_t length = 1, step = 1;
  };
  Grid grid_{1, 1, 1};
  std::array<Along, 3> along_;
};

}  // namespace hone::runner
