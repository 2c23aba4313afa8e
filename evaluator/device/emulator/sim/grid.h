// The blocks of one launch: which run, which are live together, and who gets the next turn.
// One host thread.
//
// Blocks start in order and run to their end, one after another, as long as none waits for another.
// A block whose warps only poll memory is set aside and the next one starts, up to the number that
// the device holds at once; after that the live ones take turns. So whatever makes progress on the
// device makes progress here, and what waits for a block that cannot be resident is found out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

class Grid {
 public:
  /// `clusters`: those to run, by number, rising. `resident`: blocks that the device holds at once.
  Grid(RunState& run, std::vector<std::uint64_t> clusters, std::uint64_t resident);
  /// False when the run failed (RunState::failure) or must be done again (RunState::met).
  bool run();
  /// Blocks started when Allocation::touched_at_half was taken.
  [[nodiscard]] std::uint64_t half_blocks() const { return half_blocks_; }
  /// Until the last block of the launch ends, by how those that ran followed one another [cycles].
  [[nodiscard]] std::uint64_t end_of_all() const;

 private:
  /// Blocks that start together and whose memory lives until the last of them ends.
  struct Cluster {
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<Block*> peers;
    std::vector<bool> finished;
    std::size_t left = 0;
    std::size_t number = 0;  ///< in the order of starts
  };

  void permute();
  Cluster& start_next();
  /// One turn for each block of it: kTurn when any could go on.
  Progress advance(Cluster& cluster);
  void retire(std::size_t live_index);
  bool stalled();  ///< ends the run when nothing will ever change
  /// All live blocks had a turn and changed nothing, `executed` warp instructions long.
  void forgive(std::uint64_t executed);
  /// What one of the blocks waits for and where; its text says how the others fare.
  [[nodiscard]] std::optional<Finding> why_waiting() const;
  void fail_waiting(Finding why, FindingKind kind, Verdict verdict, const std::string& before);

  RunState& run_;
  std::vector<std::uint64_t> order_;  ///< clusters
  std::size_t next_ = 0;              ///< of order_
  std::size_t ended_ = 0;
  std::size_t slots_ = 1;  ///< clusters that the device holds at once
  std::size_t in_cluster_ = 1;
  std::vector<std::unique_ptr<Cluster>> live_, pool_;
  Dice dice_;
  std::uint64_t half_blocks_ = 0;
  std::vector<std::uint64_t> free_at_;       ///< a heap of places of ended clusters [cycles]
  std::uint64_t end_of_half_ = 0, end_ = 0;  ///< of the blocks that started first; of all
  // Since anything last changed:
  std::uint64_t seen_changes_ = 0, quiet_since_ = 0, quiet_passes_ = 0;
};

}  // namespace hone::emulator
