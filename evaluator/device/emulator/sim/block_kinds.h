// Blocks that a kernel treats apart by their place in the grid alone: what its predicates say of
// every block is computed without running one, so that a sample need not be lucky to meet them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

/// The kind of every block of a grid.
class BlockKinds {
 public:
  /// Nothing where predicates tell no blocks apart or too many kinds, or of a grid of more than
  /// four million blocks.
  static std::optional<BlockKinds> of(const ModuleImpl& module, int function,
                                      const LaunchConfig& launch);

  [[nodiscard]] std::uint8_t operator[](std::uint64_t block) const { return kind_of_[block]; }
  /// One block of each kind that no block of `sample` is of: those of which there are fewest
  /// first, at most eight, by number.
  [[nodiscard]] std::vector<std::uint64_t> missed_by(
      const std::vector<std::uint64_t>& sample) const;
  [[nodiscard]] std::size_t count() const { return counts_.size(); }
  /// Of all blocks of the grid.
  [[nodiscard]] double share(std::size_t kind) const {
    return static_cast<double>(counts_[kind].first) / static_cast<double>(kind_of_.size());
  }
  /// By how much the kinds' shares of `sample` differ from their shares of the grid, summed: 0 to
  /// 2.
  [[nodiscard]] double distance(const std::vector<std::uint64_t>& sample) const;

 private:
  [[nodiscard]] std::vector<std::uint64_t> counts_in(
      const std::vector<std::uint64_t>& blocks) const;

  std::vector<std::uint8_t> kind_of_;                            ///< by block
  std::vector<std::pair<std::uint64_t, std::uint64_t>> counts_;  ///< and the first, by kind
};

}  // namespace hone::emulator
