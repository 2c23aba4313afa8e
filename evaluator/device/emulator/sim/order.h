// Happens-before between blocks on global memory, and who last touched each granule. Used where
// blocks talk to each other, and to explain what touches.h found. One host thread.
//
// A fence makes what its warp did and saw (and what the block did before its last barrier)
// publishable; an atomic, volatile or release store after it publishes that at its address; any
// atomic, volatile or acquire load there takes it over; a barrier spreads it over the block.
// A reader needs no fence: the hardware wants one, but code that runs right without is common. For
// the same reason an atomic that answered is before all that follows the next atomic of its thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "evaluator/device/emulator/sim/memory.h"

namespace hone::emulator {

struct GlobalStamp {
  std::uint32_t block = 0;  ///< its number in the grid + 1; 0: nobody
  std::uint32_t epoch = 0;  ///< of the warp
  std::uint32_t place = 0;  ///< in ModuleImpl::places
  std::uint8_t warp = 0, lane = 0;
  bool ordered : 1 = false;
  bool atomic : 1 = false;      ///< a read-modify-write: not a volatile access
  bool plural : 1 = false;      ///< several blocks wrote the same
  bool of_cluster : 1 = false;  ///< ordered for the blocks of its cluster
};
static_assert(sizeof(GlobalStamp) == 16, "three for each granule, and each load copies one");

struct GlobalCell {
  GlobalStamp writer, reader;
  std::uint64_t read_at = 0;      ///< when `reader` read
  GlobalStamp other_reader;       ///< the last of another block than `reader`, plainly
  std::uint64_t others_read = 0;  ///< and when
  std::uint64_t written_at = 0;   ///< GlobalOrder::writes, when `writer` wrote
};

struct PageShadow {
  static constexpr std::uint64_t kChunkBytes = 4096;
  std::uint32_t run = 0;
  std::unique_ptr<GlobalCell[]> chunks[kPageBytes / kChunkBytes];
};

/// What is known to have happened: sorted by key (block, or one warp of it), up to which epoch.
using Clock = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
using ClockRef = std::shared_ptr<const Clock>;

/// The last of one warp on global memory.
struct LastAtomic {
  std::uint64_t address = 0;
  std::uint64_t number = 0;  ///< of all in the run, from 1
  int lane = 0;
  bool all_answered = true;  ///< this one and those before gave their warp the old value
};

/// What was published at each word of global memory. Lanes ask for one word after another.
class Published {
 public:
  /// Null where nothing was. `place`: the address / 4.
  [[nodiscard]] const ClockRef* find(std::uint64_t place) {
    const ClockRef* const all = piece(place / kWords, false);
    return all != nullptr && all[place % kWords] ? &all[place % kWords] : nullptr;
  }
  ClockRef& at(std::uint64_t place) { return piece(place / kWords, true)[place % kWords]; }

 private:
  static constexpr std::uint64_t kWords = 256;
  ClockRef* piece(std::uint64_t number, bool make);
  std::unordered_map<std::uint64_t, std::unique_ptr<ClockRef[]>> pieces_;  ///< none is erased
  std::uint64_t last_ = ~0ull;                                             ///< asked for
  ClockRef* at_last_ = nullptr;
};

/// Of one run.
struct GlobalOrder {
  Published published;
  std::unordered_map<std::uint64_t, LastAtomic> last_atomics;  ///< by key of the warp
  std::uint64_t atomics = 0;
  std::uint64_t time = 1;        ///< of publications
  std::uint64_t writes = 1;      ///< stamped so far
  std::uint64_t entries = 0;     ///< in all clocks ever made
  bool gave_up = false;          ///< too many: nothing is reported any more
  std::uint32_t in_cluster = 1;  ///< blocks, by consecutive number
  /// By cluster: what its blocks have fenced or released, wherever they tell one another of it.
  std::unordered_map<std::uint32_t, ClockRef> released;
  ClockRef join(const ClockRef& a, const ClockRef& b);

 private:
  struct Joined {
    ClockRef a, b, sum;
  };
  std::array<Joined, 4> joined_;  ///< the last ones: whoever waits for one lock joins the same two
  std::size_t next_joined_ = 0;
};

/// Of one block.
class BlockOrder {
 public:
  void start(GlobalOrder& order, std::uint32_t block, std::size_t warps);
  void fence(int warp);
  void barrier(std::uint32_t warps, std::uint32_t live);

  // Between the blocks of a cluster. By which flag or mbarrier one tells another is not followed:
  // whoever looks at any takes over what all have released.
  void release_to_cluster(int warp);
  void take_over_from_cluster(int warp);
  /// A barrier of the cluster; by block, the warps that arrived with a release, and all of them.
  struct Arrival {
    BlockOrder* block = nullptr;
    std::uint32_t released = 0, all = 0;
  };
  static void meet(const std::vector<Arrival>& cluster);

  void publish(int warp, std::uint64_t address, std::uint64_t bytes);
  void take_over(int warp, std::uint64_t address, std::uint64_t bytes);
  /// An atomic, or a volatile or release store, which answers nothing.
  void note_atomic(int warp, int lane, std::uint64_t address, bool answers);
  /// Did it happen before what `warp` does now?
  [[nodiscard]] bool before(const GlobalStamp& stamp, int warp) const;

  /// Does a read of the warp's race with what `cell` holds?
  [[nodiscard]] bool read_races(const GlobalCell& cell, const GlobalStamp& now) const {
    return conflicts(cell.writer, now);
  }
  void note_read(GlobalCell& cell, const GlobalStamp& now) const {
    const bool other_plain = cell.reader.block != 0 && !cell.reader.ordered;
    if (other_plain && now.ordered) return;
    if (other_plain && cell.reader.block != now.block) {
      cell.others_read = std::max(cell.others_read, cell.read_at);
      cell.other_reader = cell.reader;
    }
    cell.reader = now;
    cell.read_at = order_->time;
  }
  /// Notes a write; true when it races with what `cell` still holds. `same`: the bytes do not
  /// change, which makes it harmless.
  bool write(GlobalCell& cell, const GlobalStamp& now, bool same) const;
  /// Which of them it was.
  [[nodiscard]] const GlobalStamp* culprit(const GlobalCell& before, const GlobalStamp& now,
                                           bool write) const;

  /// Sectors that plain loads have brought into the L1 stay there until a fence or an acquire of
  /// the block: may one at `address` give what was there before `cell` was written? Notes the load.
  bool stale(const GlobalCell& cell, std::uint64_t address);
  void forget_loads() { ++fences_; }

  [[nodiscard]] std::uint32_t block() const { return block_; }
  [[nodiscard]] std::uint32_t epoch(int warp) const { return warps_[warp].epoch; }

 private:
  struct WarpOrder {
    ClockRef seen, fenced;
    ClockRef taken;      ///< the last taken over, published
    ClockRef published;  ///< the last it published, and where
    std::uint64_t published_at = 0;
    std::uint64_t acquired = 0;  ///< when it last took something over
    LastAtomic* last_atomic = nullptr;
    std::uint32_t epoch = 1;
    std::uint32_t joined = 0;     ///< epoch of the whole block before its last barrier
    ClockRef taken_from_cluster;  ///< the last taken over
  };
  /// Was it an atomic after which its thread did another one, at an address at which this warp did
  /// its last one later, and did every atomic of both have its answer used before the next?
  [[nodiscard]] bool answered_before(const GlobalStamp& stamp, int warp) const;
  [[nodiscard]] bool conflicts(const GlobalStamp& earlier, const GlobalStamp& now) const {
    return earlier.block != 0 && earlier.block != now.block && conflicts_between(earlier, now);
  }
  [[nodiscard]] bool conflicts_between(const GlobalStamp& earlier, const GlobalStamp& now) const;
  [[nodiscard]] std::uint32_t cluster() const { return (block_ - 1) / order_->in_cluster; }
  /// What the warp did and saw so far.
  [[nodiscard]] ClockRef all_of(int warp) const;

  GlobalOrder* order_ = nullptr;
  std::uint32_t block_ = 0;
  std::vector<WarpOrder> warps_;
  struct Loaded {
    std::uint64_t sector = 0, fences = 0;
    std::uint64_t at = 0;  ///< GlobalOrder::writes
  };
  std::vector<Loaded> loads_;  ///< the last ones, by sector
  std::uint64_t fences_ = 1;
};

}  // namespace hone::emulator
