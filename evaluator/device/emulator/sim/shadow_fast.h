// The race check's usual answer, "no", in a few operations per granule. Says "perhaps" when in
// doubt; the rules themselves are note_read and note_write in shadow.h.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "evaluator/device/emulator/sim/shadow.h"

namespace hone::emulator {

/// One warp's access, prepared.
class FastShadow {
 public:
  FastShadow(Clocks& clocks, int warp, bool ordered)
      : before_(clocks.horizon(warp)),
        epoch_(clocks.epoch()),
        bit_(std::uint64_t{1} << (32 + warp)),
        mine_(clocks.tick(warp) | static_cast<std::uint64_t>(warp) << 32 |
              static_cast<std::uint64_t>(ordered) << 48),
        plain_bit_(ordered ? 0 : bit_) {}

  /// Notes a read of one lane, or (`many`) of several; false: perhaps a race. May be noted again.
  bool read(Cell& cell, std::uint32_t lane, bool many) const {
    const std::uint64_t writer = word(cell.writer);
    const std::uint64_t mine = mine_ | static_cast<std::uint64_t>(lane) << 40;
    const bool safe = passed(writer) || (!many && ((writer ^ mine) & (kWho | kLane)) == 0);
    const std::uint64_t reader = word(cell.reader);
    // Another lane in the same tick makes it plural, too.
    const bool plural = many || (((reader ^ mine) & kWho) == 0 && ((reader ^ mine) & kLane) != 0);
    const std::uint64_t now = plural ? mine | kLane : mine;
    std::memcpy(static_cast<void*>(&cell.reader), &now, 8);
    const std::uint64_t readers = cell.epoch == epoch_ ? word(cell.epoch) : epoch_;
    const std::uint64_t noted = readers | plain_bit_;
    std::memcpy(static_cast<void*>(&cell.epoch), &noted, 8);
    return safe;
  }
  /// Notes an atomic of one lane; false, and nothing noted: perhaps a race.
  bool atomic(Cell& cell, std::uint32_t lane) const {
    const std::uint64_t mine = mine_ | static_cast<std::uint64_t>(lane) << 40;
    const std::uint64_t writer = word(cell.writer);
    const std::uint64_t reader = word(cell.reader);
    const std::uint64_t readers = cell.epoch == epoch_ ? word(cell.epoch) : epoch_;
    const bool safe =
        passed(writer) || (writer & kOrdered) != 0 || ((writer ^ mine) & (kWho | kLane)) == 0;
    if (!safe || (readers & ~bit_) >> 32 != 0) return false;
    const auto stamp = [&](const std::uint64_t before) {
      const bool plural = ((before ^ mine) & kWho) == 0 && ((before ^ mine) & kLane) != 0;
      return plural ? mine | kLane : mine;
    };
    const std::uint64_t read = stamp(reader);
    const std::uint64_t written = stamp(writer);
    std::memcpy(static_cast<void*>(&cell.reader), &read, 8);
    std::memcpy(static_cast<void*>(&cell.writer), &written, 8);
    std::memcpy(static_cast<void*>(&cell.epoch), &readers, 8);
    return true;
  }
  /// Would a write of this lane surely be no race?
  [[nodiscard]] bool may_write(const Cell& cell, std::uint32_t lane) const {
    const std::uint64_t mine = mine_ | static_cast<std::uint64_t>(lane) << 40;
    const std::uint64_t writer = word(cell.writer);
    const std::uint64_t reader = word(cell.reader);
    const std::uint64_t readers = word(cell.epoch);
    return (passed(writer) || ((writer ^ mine) & (kWho | kLane)) == 0) &&
           (passed(reader) || ((reader ^ mine) & (kWho | kLane)) == 0) &&
           (cell.epoch != epoch_ || (readers & ~bit_) >> 32 == 0);
  }
  /// Notes a write that may_write allowed.
  void write(Cell& cell, std::uint32_t lane) const {
    const std::uint64_t now = mine_ | static_cast<std::uint64_t>(lane) << 40;
    std::memcpy(static_cast<void*>(&cell.writer), &now, 8);
  }

 private:
  // A Stamp as one word, lowest byte first: tick, warp, lane, ordered.
  static constexpr std::uint64_t kWho = 0xFF'FFFF'FFFF, kLane = 0xFF00'0000'0000,
                                 kOrdered = 0xFF'0000'0000'0000;
  static_assert(sizeof(Stamp) == 8 && sizeof(Cell) == 24);
  static_assert(std::endian::native == std::endian::little);
  static std::uint64_t word(const Stamp& s) {
    std::uint64_t v;
    std::memcpy(&v, &s, 8);
    return v;
  }
  static std::uint64_t word(const std::uint32_t& epoch_and_readers) {
    std::uint64_t v;
    std::memcpy(&v, &epoch_and_readers, 8);
    return v;
  }
  [[nodiscard]] bool passed(std::uint64_t stamp) const {
    return static_cast<std::uint32_t>(stamp) < before_[stamp >> 32 & 63];
  }

  const std::uint32_t* before_;
  std::uint32_t epoch_;
  std::uint64_t bit_, mine_, plain_bit_;
};

}  // namespace hone::emulator
