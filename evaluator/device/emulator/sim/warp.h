// One warp in flight: its stack of lanes that run together, registers, local memory, clock, and
// what it waits for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "evaluator/device/emulator/emulator.h"
#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

/// 64-byte aligned bytes that grow and keep their contents.
class AlignedBytes {
 public:
  void resize(std::size_t bytes);  ///< new bytes are zero
  [[nodiscard]] std::uint8_t* data() { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::vector<std::uint8_t> store_;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

/// One entry of the SIMT stack: lanes that run together until `reconverge`.
struct Entry {
  std::int32_t pc = 0;
  std::int32_t reconverge = -1;
  std::uint32_t mask = 0;
  std::int32_t function = 0;
  std::int32_t depth = 0;    ///< of calls
  std::uint32_t frame = 0;   ///< offset into Warp::frames
  std::uint32_t local = 0;   ///< offset into each lane's local memory
  std::int32_t caller = -1;  ///< function, with its frame and call site
  std::uint32_t caller_frame = 0;
  std::int32_t call_inst = -1;
  std::int32_t waiting = kRunning;  ///< a pc-bound wait for other lanes of the warp
  static constexpr std::int32_t kRunning = -1;
  static constexpr std::int32_t kAtWarpSync = -2;
  // >= 0: at that block barrier
};

// Warp::barrier of a warp that waits elsewhere than at bar.sync:
inline constexpr int kAtMBarrier = 16;        ///< try_wait suspended it
inline constexpr int kAtClusterBarrier = 17;  ///< barrier.cluster.wait
inline constexpr int kAtWarpgroup = 18;       ///< wgmma.wait_group, before the others' products

inline constexpr int kStoresKept = 32;

struct Held {
  Finding finding;
  std::uint32_t place = 0;
};

/// A race of a load of which a selection may throw away the value (Inst::choice): it counts for the
/// lanes that keep it.
struct Doubt {
  const Function* function = nullptr;
  std::size_t frame = 0;    ///< in Warp::frames
  std::uint32_t reg = 0;    ///< its number
  std::uint32_t lanes = 0;  ///< that have the value
  bool global = false;
  Held held;
};

/// A value of which some bits are uninitialised; of one that is tainted without this, all are.
struct Partial {
  const Function* function = nullptr;
  std::size_t frame = 0;    ///< in Warp::frames
  std::uint32_t reg = 0;    ///< its number
  std::uint32_t lanes = 0;  ///< that have the value
  std::uint64_t bits[32];   ///< uninitialised ones, by lane
};

/// How far the path through a block has come [cycles]: back along those that it waited for.
struct Moment {
  std::uint64_t at = 0;
  std::uint64_t given = 0;  ///< of it: waits that last as long whatever the code is
  std::uint64_t far = 0;    ///< of those: what the DRAM takes longer than the L2
  std::int64_t late = 0;    ///< beside it: waits for other blocks (OrderedWords)
  void not_before(const Moment& other) {
    const std::int64_t whole = std::max(with_waits(), other.with_waits());
    if (other.at > at) *this = other;
    late = whole - static_cast<std::int64_t>(at);
  }
  [[nodiscard]] Moment after(std::uint64_t cycles, std::uint64_t of_dram = 0) const {
    return {at + cycles, given + cycles, far + of_dram, late};
  }
  /// Since the block began.
  [[nodiscard]] std::int64_t with_waits() const { return static_cast<std::int64_t>(at) + late; }
};

/// Of global memory, with what a warp found there.
struct Word {
  std::uint64_t address = 0, value = 0, bytes = 0;
};

/// A seeded schedule lets nobody run until the run has executed so much [warp instructions].
struct Hold {
  std::uint64_t since = 0, until = 0;
};

/// Where byte `at` of a lane's local memory is in Warp::local and local_written: one word of all
/// lanes is one row, as lanes mostly use the same words at once.
constexpr std::size_t local_place(std::uint64_t at, int lane) {
  return (at / 4 * 32 + static_cast<std::uint64_t>(lane)) * 4 + at % 4;
}
/// What `stride` bytes for each lane take [B].
constexpr std::size_t local_size(std::uint32_t stride) {
  return (std::size_t{stride} + 3) / 4 * 4 * 32;
}

/// A store, or a part of one, that others do not see yet.
struct LateStore {
  std::uint64_t address = 0;
  std::uint64_t since = 0, until = 0;  ///< instructions of the run
  std::uint8_t data[64] = {};
  const Inst* reduction = nullptr;
  std::uint8_t bytes = 0, warp = 0;
  bool in_block = false;  ///< its block sees it
};

struct Warp {
  int index = 0;
  std::uint32_t launched = 0;  ///< lanes that exist
  std::uint32_t alive = 0;
  std::vector<Entry> stack;
  AlignedBytes frames;
  std::vector<std::uint8_t> local;  ///< see local_place()
  std::uint32_t local_stride = 0;   ///< of one lane [B]
  std::vector<std::uint8_t> local_written;
  std::vector<std::uint64_t> ready;  ///< cycle of each register's value, from kFirstReady
  std::uint64_t cycle = 0;           ///< of the last issue
  std::uint64_t latest = 0;          ///< start of anything so far
  std::uint64_t idle = 0;            ///< of it: waits for others, and those in `given`
  std::uint64_t given = 0, far = 0;  ///< as a Moment's
  std::int64_t late = 0;             ///< likewise
  int stored_lines = 0;              ///< of its last store to global memory
  std::uint64_t stored_line[kStoresKept];
  std::uint8_t stored_sectors[kStoresKept];
  std::uint64_t swapped = 0;          ///< address of its last compare-and-swap; 0: left since
  std::uint64_t swapped_cycle = 0;    ///< and when
  std::uint64_t stored_remotely = 0;  ///< when last into another block of the cluster
  bool stored = false;                ///< to global memory, since its last fence
  std::uint32_t trips = 0;            ///< of loops that ptxas unrolls
  std::uint64_t executed = 0;
  Word words[2];  ///< the last two that it read by ordered loads or atomics, likewise
  Hold hold;
  bool torn = false;                ///< others see a part of its last store: it does not go on
  int barrier = -1;                 ///< waiting at
  std::uint32_t barrier_count = 0;  ///< threads expected, 0: all
  std::int32_t barrier_inst = -1;
  std::uint32_t barrier_predicate = 0;
  std::int32_t barrier_function = -1;
  bool tainting = false;             ///< an uninitialised value is in some register
  bool spinning = false;             ///< read an ordered location since the last turn
  bool flattened = false;            ///< gave up a reconvergence for progress
  std::uint32_t passed = 0;          ///< lanes let past a join while others waited for them
  const Inst* polled = nullptr;      ///< the last ordered load or atomic without effect
  std::uint64_t polled_address = 0;  ///< and where
  int polled_lane = 0;
  // The last look at what blocks wait for, and when: Moment::with_waits.
  const Inst* looked = nullptr;
  std::uint64_t looked_address = 0;
  std::int64_t looked_at = 0;
  // wgmma: groups by number, from 1. A register's is that of the product that writes it.
  std::uint32_t wgmma_group = 1, wgmma_done = 0;  ///< being filled; complete up to
  std::uint32_t wgmma_awaited = 0;                ///< at kAtWarpgroup: this group
  bool wgmma_fenced = false;
  std::uint64_t wgmma_history = 0;          ///< hash of the products so far
  std::vector<std::uint32_t> wgmma_writes;  ///< per register of the frame: group, 0: none
  std::vector<Doubt> doubts;
  std::vector<Partial> partials;
  bool apart = false;  ///< a seeded schedule has let some of its lanes go on alone
  [[nodiscard]] bool done() const { return alive == 0; }
  [[nodiscard]] std::uint64_t time() const { return cycle > latest ? cycle : latest; }
  [[nodiscard]] Moment moment() const { return {time(), given, far, late}; }
  /// Goes on no earlier than whatever it waits for.
  void wait_until(const Moment& then) {
    const std::uint64_t now = time();
    cycle = latest = now;
    const std::int64_t whole = std::max(moment().with_waits(), then.with_waits());
    if (then.at > now) {
      idle += then.at - now;
      given = then.given;
      far = then.far;
      cycle = latest = then.at;
    }
    late = whole - static_cast<std::int64_t>(time());
  }
  /// Waits as long as the machine code does not tell.
  void pause(std::uint64_t cycles) { wait_until(moment().after(cycles)); }
};

}  // namespace hone::emulator
