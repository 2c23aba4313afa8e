// What words of global memory held when: those that warps write with volatile, release or atomic
// accesses, so that a block that waits for another is as late as on a device. Used by samples for
// the time model (RunOptions::waits_in_time). Moments are cycles since the launch began.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace hone::emulator {

class OrderedWords {
 public:
  static constexpr std::uint64_t kBytes = 8;  ///< of a word, aligned

  /// `address`'s word, which held `before`, holds something else from `moment` on.
  void wrote(std::uint64_t address, std::uint64_t before, std::uint64_t after,
             std::uint64_t moment);

  /// Who swaps a word until it fits takes turns, and waits for nobody (Turns): `at` leaves it out.
  void take_turns(std::uint64_t address) { words_[address / kBytes].turns = true; }

  struct Seen {
    std::uint64_t value = 0;
    std::uint64_t next = 0;  ///< when it changes
  };
  /// What `address`'s word held at `moment`; nothing: what memory holds now.
  [[nodiscard]] std::optional<Seen> at(std::uint64_t address, std::uint64_t moment) const;

 private:
  struct Change {
    std::uint64_t moment = 0;
    std::uint64_t before = 0;
  };
  struct Word {
    std::vector<Change> changes;
    bool turns = false;
  };
  std::unordered_map<std::uint64_t, Word> words_;  ///< by address / kBytes
};

}  // namespace hone::emulator
