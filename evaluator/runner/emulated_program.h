// A program with its buffers in emulated memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "evaluator/device/emulator/emulator.h"
#include "evaluator/fill/fill.h"
#include "evaluator/protocol/messages.h"

namespace hone::runner {

/// Contents of inputs that several programs, or runs of one, read at the same inputs: making them
/// takes longer than most blocks. One host thread.
class SharedInputs {
 public:
  /// As fill::Source::read. `buffer` is the same one for all who share this.
  void read(const fill::Source& source, const ConcreteBuffer& buffer, std::uint64_t offset,
            std::uint8_t* out, std::size_t size);
  [[nodiscard]] std::uint64_t made_elements() const { return made_elements_; }

 private:
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::uint8_t>> pieces_;
  std::uint64_t bytes_ = 0, made_elements_ = 0;
};

class EmulatedProgram {
 public:
  enum class Outputs {
    kUninitialised,  ///< for checks: reading a byte nobody wrote is reported
    kZero,           ///< for sampling, where earlier launches ran in part only; see written_bytes()
    kUnwritten,      ///< for parts of which it is asked what they wrote; see written()
  };

  /// `pad` shifts every address: a program whose answer depends on addresses shows.
  [[nodiscard]] static Result<std::unique_ptr<EmulatedProgram>> load(
      const protocol::Runnable& runnable, std::uint64_t seed, Outputs outputs,
      std::uint64_t pad = 0, std::shared_ptr<SharedInputs> shared = nullptr);

  [[nodiscard]] emulator::RunReport launch(const emulator::Module& module, std::size_t index,
                                           const emulator::RunOptions& options);
  [[nodiscard]] Result<emulator::LaunchConfig> config(std::size_t index) const;
  /// Every launch in order; stops at the first that is not ok. `budget` spans all of them when
  /// `count`, else it is each launch's. Counting also changes what %clock reads.
  [[nodiscard]] emulator::RunReport run_all(const emulator::Module& module, std::uint64_t budget,
                                            bool count, std::uint64_t schedule_seed = 0);
  /// Host threads that run_all may use.
  void set_threads(int threads) { threads_ = threads; }

  [[nodiscard]] int index_of(const std::string& buffer) const;  ///< -1: none
  [[nodiscard]] std::vector<std::uint8_t> read(int buffer) const;
  /// Into `out`, from byte `offset` on.
  void read(int buffer, std::uint64_t offset, std::span<std::uint8_t> out) const {
    (void)memory_.read(addresses_[static_cast<std::size_t>(buffer)] + offset, out.data(),
                       out.size());
  }
  /// With Outputs::kUnwritten: what launches wrote to a buffer that is not an input, in rising
  /// order.
  [[nodiscard]] std::vector<emulator::ByteRange> written(int buffer) const {
    return memory_.written_ranges(addresses_[static_cast<std::size_t>(buffer)]);
  }
  /// How many those are so far; with Outputs::kZero as well.
  [[nodiscard]] std::uint64_t written_bytes(int buffer) const {
    return memory_.written_bytes(addresses_[static_cast<std::size_t>(buffer)]);
  }
  /// Did the last counted launch read a `__device__` variable that nobody has written?
  [[nodiscard]] bool reads_empty_variable() const { return memory_.touched_empty_variable(); }
  /// `__device__` variables that the last counted launch touched, by address, and whether any
  /// launch has written them.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, bool>> touched_variables() const {
    return memory_.touched_variables();
  }
  /// Did an atomic of any launch change it?
  [[nodiscard]] bool was_added_to(int buffer) const {
    return memory_.was_added_to(addresses_[static_cast<std::size_t>(buffer)]);
  }
  /// The block with most warp instructions of each launch of the last run_all.
  struct LongestBlock {
    std::uint64_t number = 0, instructions = 0;
  };
  [[nodiscard]] const std::vector<LongestBlock>& longest_blocks() const { return longest_; }
  /// Did any launch write a `__device__` variable?
  [[nodiscard]] bool wrote_variables() const { return memory_.variables_were_written(); }
  /// What the last counted launch touched of it, in whole sectors, in rising order.
  [[nodiscard]] std::vector<emulator::ByteRange> touched(int buffer) const {
    return memory_.touched_ranges(addresses_[static_cast<std::size_t>(buffer)]);
  }
  /// Did one launch of a counted run_all touch every sector of it?
  [[nodiscard]] bool touched_whole(int buffer) const;
  /// Distinct bytes, in whole sectors, that the last counted launch touched of it.
  [[nodiscard]] std::uint64_t touched_bytes(int buffer) const {
    return memory_.touched_bytes(addresses_[static_cast<std::size_t>(buffer)]);
  }
  /// The same when half of its blocks had run.
  [[nodiscard]] std::uint64_t touched_bytes_at_half(int buffer) const {
    return memory_.touched_bytes_at_half(addresses_[static_cast<std::size_t>(buffer)]);
  }
  /// Replaces what the buffer holds from byte `offset` on; false where that is out of bounds.
  [[nodiscard]] bool write(int buffer, std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    return memory_.write(addresses_[static_cast<std::size_t>(buffer)] + offset, bytes.data(),
                         bytes.size());
  }
  [[nodiscard]] bool was_written(int buffer) const;
  [[nodiscard]] std::int64_t first_unwritten(int buffer) const;  ///< byte, or -1
  /// As between two calls of a user: new contents for what is read, nothing in what is written, and
  /// scratch memory and `__device__` variables as they were left. `changes`: see Case.
  [[nodiscard]] Result<void> begin_again(std::uint64_t seed, std::uint64_t changes = 0);
  /// Whose inputs the next begin_again() makes; may be null.
  void share(std::shared_ptr<SharedInputs> inputs) { shared_ = std::move(inputs); }
  /// Its `__device__` variables begin as those of `before`, which has run the same module. Before
  /// the first launch.
  void inherit_variables(const EmulatedProgram& before) {
    memory_.inherit_variables(before.memory_);
  }
  /// As if nothing had written to anything but inputs, which stay as they are; `__device__`
  /// variables stay, too.
  [[nodiscard]] Result<void> forget_writes(std::uint64_t seed);
  /// Is there anything that one call could leave for the next? Asked after a run.
  [[nodiscard]] bool keeps_something() const;
  /// `__device__` variables, as far as anybody looked at them.
  [[nodiscard]] std::vector<std::uint8_t> variables() const { return memory_.variables(); }
  /// Scratch memory and `__device__` variables: what one call leaves for the next.
  [[nodiscard]] std::vector<std::uint8_t> state() const;
  /// The same as words of four bytes, and `times` of each of as many numbers added to them: as if
  /// it had been called so often.
  [[nodiscard]] std::vector<std::uint32_t> state_words() const;
  void add_to_state(std::span<const std::uint32_t> numbers, std::uint32_t times);
  /// See emulator::Memory::limit().
  void limit_memory(std::uint64_t most_bytes) { memory_.limit(most_bytes); }
  /// Host memory that its buffers take so far [B].
  [[nodiscard]] std::uint64_t live_bytes() const { return memory_.live_bytes(); }
  [[nodiscard]] const ConcreteProgram& program() const { return runnable_.program; }
  [[nodiscard]] const protocol::Runnable& runnable() const { return runnable_; }

 private:
  EmulatedProgram(const protocol::Runnable& runnable, Outputs outputs)
      : runnable_(runnable), outputs_(outputs) {}
  [[nodiscard]] Result<emulator::Memory::PageSource> contents(const ConcreteBuffer& buffer,
                                                              std::uint64_t seed,
                                                              std::uint64_t changes = 0) const;

  const protocol::Runnable& runnable_;  ///< outlives this
  const Outputs outputs_;
  int threads_ = 1;
  std::size_t launched_ = 0;              ///< the launch of the last counted run
  std::shared_ptr<SharedInputs> shared_;  ///< may be null
  emulator::Memory memory_;
  std::vector<std::uint64_t> addresses_;
  std::vector<LongestBlock> longest_;
  std::vector<std::uint64_t> touched_;  ///< of each buffer, the most by one launch [B]
};

}  // namespace hone::runner
