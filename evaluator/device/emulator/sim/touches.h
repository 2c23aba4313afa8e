// What blocks touched of global memory, a bit a granule: finds out cheaply, when a block ends,
// whether it could have met another. Right for kernels whose blocks order nothing between them
// (traits.h); whoever finds a meeting runs the launch again with order.h's stamps, after
// `roll_back`.
//
// A block's marks belong to the thread that runs it; merging and saving take a lock of the page.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "evaluator/device/emulator/sim/memory.h"

namespace hone::emulator {

enum class Touch : std::uint8_t {
  kRead,
  kWrite,
  kOrdered  ///< atomic, volatile, relaxed, ...: no race among themselves
};

struct PageTouches {
  std::uint32_t run = 0;                                  ///< that the marks belong to
  std::array<std::unique_ptr<std::uint64_t[]>, 3> marks;  ///< by Touch
  std::uint32_t saved = 0;                                ///< run before which:
  std::unique_ptr<std::uint8_t[]> data;                   ///< the page's bytes
  std::unique_ptr<std::uint64_t[]> written;
};

class BlockTouches {
 public:
  /// `shift`: log2 of a granule [B]; no store is narrower.
  void start(Memory::Impl& memory, int shift) {
    memory_ = &memory;
    shift_ = shift;
  }
  [[nodiscard]] int shift() const { return shift_; }
  /// Granules [first, first + count) of the page.
  void note(const Span& span, Touch how, std::uint64_t first, std::uint64_t count);
  /// Adds the marks to those of the blocks before and clears them; true when two blocks touched the
  /// same bytes and one of them wrote.
  bool merge();

 private:
  struct Marks {
    Span span;
    bool touched = false;
    bool saved = false;                 ///< its contents before the run
    std::uint32_t low = ~0u, high = 0;  ///< words with marks
    std::array<std::vector<std::uint64_t>, 3> bits;
  };
  Marks& of(const Span& span);

  Memory::Impl* memory_ = nullptr;
  int shift_ = 2;
  std::unordered_map<const Page*, std::unique_ptr<Marks>> pages_;
  std::vector<Marks*> touched_;
  Marks* last_ = nullptr;
  std::array<Marks*, 64> recent_{};  ///< of pages_, by their addresses
};

/// Undoes what this run wrote to global memory.
void roll_back(Memory::Impl& memory);

}  // namespace hone::emulator
