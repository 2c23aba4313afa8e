// A program at its timed sizes of which only a part is run: the blocks that write what somebody
// asks for, and before them the blocks of earlier launches that write what those read. What comes
// out is final, so it can be compared without running the whole program.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "evaluator/device/emulator/emulator.h"
#include "evaluator/runner/block_groups.h"
#include "evaluator/runner/emulated_program.h"

namespace hone::runner {

class PartialRun {
 public:
  using Ranges = std::vector<emulator::ByteRange>;
  /// A launch of the program and one of its blocks, by number. Blocks that count with the same
  /// words (block_groups.h) count as one.
  using BlockId = std::pair<std::size_t, std::uint64_t>;

  /// `most_units`: of all that it runs (see units_of). `inputs`: of all who run on the same ones,
  /// not null. `schedule`: see
  /// emulator::RunOptions::schedule_seed. The first three outlive this.
  [[nodiscard]] static Result<std::unique_ptr<PartialRun>> load(
      const protocol::Runnable& runnable, const emulator::Module& module, std::uint64_t seed,
      double most_units, std::shared_ptr<SharedInputs> inputs, std::uint64_t schedule = 0);

  enum class Made {
    kMade,
    kNotFound,  ///< no block was found that writes it, or not all that do
    kFailed,    ///< nothing further can be made: see verdict() and why()
  };
  /// Makes byte `offset` of `buffer` final.
  [[nodiscard]] Made make(int buffer, std::uint64_t offset);
  /// Runs all blocks of all launches, with every check: then all that it ever writes is final, and
  /// why() and verdict() tell of this run alone. False: it did not end well.
  [[nodiscard]] bool run_whole(std::uint64_t most_instructions);
  [[nodiscard]] bool is_whole() const { return whole_; }
  /// The next call in the same memory, with the contents of `seed`: nothing of it is made yet, or,
  /// where all blocks ran before, all of it. False: it did not end well.
  [[nodiscard]] bool call_again(std::uint64_t seed, std::shared_ptr<SharedInputs> inputs,
                                std::uint64_t most_instructions);
  /// The bytes that `block` of the launch that writes `buffer` last writes to it, before they are
  /// final: a place to choose bytes from. Empty: none, or see why().
  [[nodiscard]] Ranges written_by(int buffer, std::uint64_t block);
  /// How many blocks that launch has; 0: no launch was seen to write the buffer.
  [[nodiscard]] std::uint64_t blocks_that_write(int buffer);
  /// Of its blocks those that it treats apart by their place in the grid alone; see
  /// emulator::rare_blocks.
  [[nodiscard]] std::vector<std::uint64_t> rare_blocks(int buffer);
  /// Every block that ran wrote to the buffer what the first one did, moved by so much for each
  /// step through the grid (less at its end): if the others do, nobody writes this byte.
  [[nodiscard]] bool is_hole(int buffer, std::uint64_t offset);
  /// Blocks of all launches that ran and count.
  [[nodiscard]] std::size_t blocks_run() const { return ran_.size(); }
  /// All that ran so far took so much (see units_of).
  [[nodiscard]] double spent_units() const { return spent_units_; }
  /// Its units are spent, and not on a block that waits for others: all of it takes longer still.
  [[nodiscard]] bool is_too_long() const { return is_too_long_; }
  /// Bytes of `buffer` that are final, in rising order.
  [[nodiscard]] Ranges made(int buffer);
  [[nodiscard]] const EmulatedProgram& program() const { return *program_; }
  /// What a block that ran did wrong; kOk: nothing.
  [[nodiscard]] Verdict verdict() const { return verdict_; }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  /// What one block does by itself, whether or not there is what it reads.
  struct Trial {
    bool ended = false;
    std::map<int, Ranges> writes, touches;  ///< by buffer; touched are whole sectors
    bool atomics = false;  ///< on anything, where nobody knows who counts with whom
  };
  /// How what a launch writes to a buffer moves from block to block.
  struct Layout {
    std::vector<std::int64_t> strides;  ///< for a step in x, y, z; of an extent of 1: 0 [B]
    bool regular = true;                ///< the ranges of the next block are the first's, moved
  };

  /// A digit of a block's number: each of its values moves what the block writes by a stride.
  struct Digit {
    std::uint64_t step;   ///< blocks
    std::int64_t stride;  ///< above 0 [B]
    std::int64_t values;
  };

  /// Of a `__device__` variable: which launch touched it first, whether another one did, too.
  struct VariableUse {
    std::size_t launch = 0;
    bool several = false, written = false;
  };

  /// The blocks that write a byte, and the piece around it that the same blocks write.
  struct Owners {
    std::vector<std::uint64_t> blocks;  ///< empty: not found
    emulator::ByteRange piece;
  };

  /// All blocks of all launches, in the memory as it is.
  bool run_all_blocks(std::uint64_t most_instructions);
  PartialRun(const protocol::Runnable& runnable, const emulator::Module& module, std::uint64_t seed,
             double most_units, std::shared_ptr<SharedInputs> inputs, std::uint64_t schedule);

  [[nodiscard]] Result<std::unique_ptr<EmulatedProgram>> loaded(EmulatedProgram::Outputs outputs);
  /// What needs too much memory takes too long.
  emulator::RunReport launched(EmulatedProgram& program, std::size_t launch,
                               const emulator::RunOptions& options);
  /// Sets groups_ where blocks ask how many came before them.
  void find_groups();
  void find_groups(std::size_t launch);
  [[nodiscard]] bool hands_on_variables(const EmulatedProgram& program, std::size_t launch);
  bool fail(std::string why, Verdict verdict = Verdict::kOk);
  [[nodiscard]] std::array<std::uint64_t, 3> grid(std::size_t launch) const;
  [[nodiscard]] std::uint64_t blocks(std::size_t launch) const;
  /// Charges what ran; false: it did not end well.
  bool launch(EmulatedProgram& program, BlockId block, Trial* trial = nullptr);
  const Trial& trial(BlockId block);
  [[nodiscard]] bool writes(std::size_t launch, int buffer);
  [[nodiscard]] int last_writer(int buffer);  ///< a launch; -1: none
  const Layout& layout_of(std::size_t launch, int buffer);
  [[nodiscard]] bool writes_byte(BlockId block, int buffer, std::uint64_t offset);
  [[nodiscard]] Owners owners(std::size_t launch, int buffer, std::uint64_t offset);
  /// Of a byte that `one` adds to: all that do.
  [[nodiscard]] Owners all_that_add(std::size_t launch, int buffer, std::uint64_t offset,
                                    std::uint64_t one);
  /// How far what a block writes is from what block 0 writes [B].
  [[nodiscard]] std::int64_t shift_of(std::size_t launch, const Layout& layout,
                                      std::uint64_t block) const;
  /// Does the block write what the layout says, or at the grid's end a part of it?
  [[nodiscard]] bool as_laid_out(std::size_t launch, int buffer, std::uint64_t block);
  /// A block that writes the byte if each does what the layout says.
  [[nodiscard]] std::optional<std::uint64_t> by_layout(std::size_t launch, int buffer,
                                                       std::uint64_t offset);
  [[nodiscard]] std::optional<std::uint64_t> by_trials(std::size_t launch, int buffer,
                                                       std::uint64_t offset);
  [[nodiscard]] std::optional<std::uint64_t> by_strides(std::size_t launch, int buffer,
                                                        std::uint64_t offset);
  [[nodiscard]] std::optional<std::uint64_t> by_digits(std::size_t launch, int buffer,
                                                       std::uint64_t offset);
  const std::vector<Digit>& digits_of(std::size_t launch, int buffer);
  [[nodiscard]] std::optional<std::int64_t> moved_to(std::size_t launch, int buffer,
                                                     std::uint64_t block);
  [[nodiscard]] std::optional<std::uint64_t> by_order(std::size_t launch, int buffer,
                                                      std::uint64_t offset);
  /// Runs the blocks of the launches before `launch` that write these bytes, whole sectors. Of
  /// those in `only_read` somebody must have, unless the buffer begins with something.
  bool need(std::size_t launch, int buffer, const Ranges& ranges, const Ranges& only_read);
  /// Sets `found` where a block of the launch writes to the sector.
  bool complete(std::size_t launch, int buffer, std::uint64_t sector, bool& found);
  bool run_block(BlockId block);

  const protocol::Runnable& runnable_;
  const emulator::Module& module_;
  std::uint64_t seed_;
  /// By launch: blocks that run together and count as one block here.
  std::map<std::size_t, BlockGroups> groups_;
  std::shared_ptr<SharedInputs> inputs_;
  const std::uint64_t schedule_;
  double units_left_;
  const std::uint64_t most_bytes_;  ///< of each program's buffers, in host memory
  double spent_units_ = 0;
  bool whole_ = false, is_too_long_ = false;
  /// One launch whose blocks only store: whatever runs first, each block's result is final.
  bool trials_count_ = false;
  std::unique_ptr<EmulatedProgram> program_;
  std::map<BlockId, Trial> trials_;
  /// Was it seen that blocks add to the buffer, by `one` or by groups of blocks?
  [[nodiscard]] bool adds_to(int buffer, const Trial& one) const {
    return one.atomics || added_to_.contains(buffer);
  }
  std::set<int> added_to_;                          ///< buffers that an atomic was seen to change
  std::map<std::uint64_t, VariableUse> variables_;  ///< by address
  std::map<std::pair<std::size_t, int>, Layout> layouts_;
  std::map<std::pair<std::size_t, int>, std::vector<Digit>> digits_;
  std::set<BlockId> ran_;
  /// Sectors of a buffer that a launch has written as far as it ever does, by launch and buffer.
  std::map<std::pair<std::size_t, int>, std::unordered_map<std::uint64_t, bool>> complete_;
  /// Sectors that were written, by buffer: the launch that was the last to do so.
  std::vector<std::unordered_map<std::uint64_t, std::size_t>> there_;
  std::vector<Ranges> made_;  ///< by buffer
  Verdict verdict_ = Verdict::kOk;
  std::string why_;
};

}  // namespace hone::runner
