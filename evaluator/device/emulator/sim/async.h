// What a block has under way besides its warps: cp.async and bulk copies that have not landed, and
// its mbarriers. A copy lands as late as it may: at the wait of the thread that started it, or when
// somebody looks at the mbarrier that it completes. Until then its destination holds poison, and
// touching it is reported. Owned by a Block, made by the first instruction that needs it.
// Work on another block of the cluster is kept by the block whose memory and mbarrier it changes;
// `by` is the one whose warp asks for it.
// async.cpp: dispatch and the shared helpers; async_copy.cpp: cp.async; async_bulk.cpp: bulk
// copies; async_share.cpp: those between blocks, st.async and red.async; mbarrier.cpp: mbarriers
// and who waits at them; cluster.cpp: which block an address means, and cluster barriers.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/cluster_order.h"

namespace hone::emulator {

inline constexpr std::uint64_t kBytesPerCycle = 64;  // of one copy, once its first bytes are there

/// One element of an atomic operation (sim/atomics.cpp): what memory holds afterwards.
std::uint64_t apply_atomic(const Inst& in, std::uint64_t old, std::uint64_t operand);
/// The same of atom and red on global memory, but for compare-and-swaps.
std::uint64_t apply_global_atomic(const Inst& in, std::uint64_t old, std::uint64_t operand);

class Async {
 public:
  explicit Async(Block& block) : b_(block) {}

  void reset();
  /// How often the blocks of the cluster have met at its barrier.
  [[nodiscard]] std::uint32_t cluster_phase() const { return cluster_phase_; }
  Block::Step run(Warp& w, const Inst& in, std::uint32_t mask);

  /// Nobody in the block can go on: those that try_wait suspended look again, a number of times.
  enum class Stuck {
    kNobody,   ///< waits for anything here
    kWoken,    ///< somebody goes on
    kCluster,  ///< only another block of the cluster can help
    kFailed    ///< a deadlock
  };
  Stuck stuck();
  /// "waits at the mbarrier ...", "" when nobody waits.
  [[nodiscard]] std::optional<Finding> waiting_for() const;
  /// Something happened that a suspended warp may wait for.
  void note_progress();
  /// The block's last thread has left. False: a failure.
  bool finish();
  /// Reports an access to a place that a copy in flight or an mbarrier owns; false when none does.
  /// `ok`: the run goes on. `by`: the warp's block, where it is another one.
  bool conflict(const char* what, std::uint64_t offset, const Stamp* writer, const Warp& w,
                const Inst& in, int lane, bool& ok, Block* by = nullptr);

 private:
  using Step = Block::Step;

  /// When something is there that takes so long from now on.
  [[nodiscard]] Moment due_of(const Warp& w, std::uint64_t cycles) const {
    const auto l2 = static_cast<std::uint64_t>(b_.run_.profile->l2_latency);
    return Moment{w.cycle, w.given, w.far, w.late}.after(cycles, cycles > l2 ? cycles - l2 : 0);
  }
  /// One warp's cp.async.
  struct Copy {
    const Inst* inst = nullptr;
    std::uint64_t sequence = 0;
    Moment due;
    std::uint32_t lanes = 0;         ///< that have not landed
    std::uint32_t unknown = 0;       ///< lanes that read something uninitialised
    std::uint8_t bytes = 0;          // each lane writes
    std::uint32_t group[32] = {};    ///< 0-based, of its lane
    std::uint64_t to[32] = {};       ///< offset in shared memory
    std::uint64_t from[32] = {};     ///< address in global memory
    std::uint8_t read[32] = {};      // each lane reads [B]
    std::uint8_t data[32][16] = {};  ///< as it was at the start
  };
  /// "Arrive once the copies that these lanes started so far have landed."
  struct CopyArrival {
    int warp = 0;
    std::uint32_t lanes = 0;
    std::uint64_t before = 0;  ///< sequence
    const Inst* inst = nullptr;
  };
  /// A bulk copy, st.async or red.async into this block's shared memory.
  struct BulkLoad {
    std::uint64_t to = 0;
    std::vector<std::uint8_t> data;
    std::vector<bool> unknown;  ///< words whose source was not initialised
    std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>
        sources;          ///< (offset in data, address, bytes)
    bool shares = false;  ///< the source is `by`'s shared memory, from `shared_from` on
    std::uint64_t shared_from = 0;
    bool as_tf32 = false;  ///< rounds what it writes
    bool reduce = false;
    AtomicOp op = AtomicOp::kAdd;
    Async* by = nullptr;
    const Inst* inst = nullptr;
    int warp = 0, lane = 0;
    Moment due;
  };
  /// A bulk copy out of this block's shared memory, read at its start and checked at its wait,
  /// which also writes it; a wait for reads alone leaves that to a later one, or to the block's
  /// end.
  struct BulkStore {
    std::uint64_t from = 0;
    std::vector<std::uint8_t> data;
    std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>
        pieces;  ///< (offset in data, to, bytes)
    Type type;   ///< of a reduction's elements
    const Inst* inst = nullptr;
    std::int32_t function = 0;
    int warp = 0, lane = 0;
    std::uint32_t group = 0;
    bool read = false;  ///< somebody has waited for that
    bool late = false;  ///< and written after that
    Moment due;
  };
  struct MBarrier {
    std::uint32_t expected = 0, pending = 0;
    std::int64_t transactions = 0;  // [B]
    std::uint32_t phase = 0;
    std::uint32_t line = 0;  ///< of its init
    Stamp made;              ///< its init
    ClockView arriving{}, completed{};
    ForeignTicks foreign_arriving, foreign_completed;  ///< of other blocks of the cluster
    Moment arrived, due;                               ///< the last arrival; the last phase
    std::vector<CopyArrival> copies;
    std::vector<BulkLoad> loads;
  };
  struct PerWarp {
    std::vector<Copy> copies;
    std::uint64_t sequence = 0;
    std::uint32_t group[32] = {};  ///< that is being filled
    std::vector<BulkStore> stores;
    std::uint32_t bulk_group[32] = {};
    std::uint32_t cluster_arrived = 0;  ///< lanes
    std::uint32_t cluster_phase = 0;    ///< in which they arrived
    bool cluster_relaxed = false;       ///< some of them without releasing anything
    bool woken = false;                 ///< its next try_wait says false rather than wait again
    std::size_t rotations = 0;
  };

  // async.cpp
  [[nodiscard]] const AsyncOperands& operands(const Inst& in) const {
    return b_.function_->async[in.extra];
  }
  [[nodiscard]] std::uint64_t address(const AsyncAddress& a, int lane) const;
  [[nodiscard]] std::uint64_t value(Slot slot, bool wide, int lane) const;
  bool known_operands(Warp& w, const Inst& in, std::uint32_t mask);
  PerWarp& of(const Warp& w);
  bool fail(const Warp& w, const Inst& in, int lane, const std::string& what,
            FindingKind kind = FindingKind::kMBarrier);
  std::string thread_name(int warp, int lane) const;
  static const char* copy_name(const BulkLoad& l);
  /// Checks that `lane` may write there now, and poisons the place until it lands.
  bool claim(Warp& w, const Inst& in, int lane, std::uint64_t to, std::uint32_t bytes);
  /// The same for a warp of any block, and for reductions, which leave the place as it is.
  bool claim_for(Async& by, Warp& w, const Inst& in, int lane, std::uint64_t to,
                 std::uint32_t bytes, bool reduce);
  void settle(std::uint64_t to, const std::uint8_t* data, std::uint32_t bytes, const Stamp& stamp,
              bool unknown);
  [[nodiscard]] bool in_shared(std::uint64_t offset, std::uint64_t bytes) const;
  /// Copies out of global memory; false: the first byte that is in no buffer is in `bad`.
  bool read_global(std::uint64_t from, std::uint8_t* to, std::uint64_t bytes, bool& unknown,
                   std::uint64_t& bad);

  // async_copy.cpp
  Step copy(Warp& w, const Inst& in, std::uint32_t mask);
  Step commit(Warp& w, std::uint32_t mask);
  Step wait(Warp& w, const Inst& in, std::uint32_t mask, bool all);
  Step arrive_on_copies(Warp& w, const Inst& in, std::uint32_t mask);
  bool land(Warp& owner, Copy& c, std::uint32_t lanes, bool through_mbarrier);

  // async_bulk.cpp
  struct Pieces;
  /// The block that an address of shared memory means; `at` becomes an offset there. Null:
  /// reported.
  Async* home(Warp& w, const Inst& in, int lane, std::uint64_t& at);
  bool read_map(Warp& w, const Inst& in, int lane, std::array<std::uint8_t, 128>& map);
  bool plain_pieces(Warp& w, const Inst& in, int lane, bool load, Pieces& out);
  bool tensor_pieces(Warp& w, const Inst& in, int lane, bool load, Pieces& out);
  /// `adds`: a store that reduces, of integers or not.
  void count_bulk(const Pieces& p, bool load, bool adds, bool integer);
  bool fetch(Warp& w, const Inst& in, int lane, const Pieces& p, BulkLoad& load);
  Step bulk_load(Warp& w, const Inst& in, std::uint32_t mask);
  /// The blocks that a load goes to, and the mbarrier in each. False: reported.
  bool targets(Warp& w, const Inst& in, int lane, Async* to, std::vector<Async*>& out);
  Step bulk_store(Warp& w, const Inst& in, std::uint32_t mask);
  Step bulk_wait(Warp& w, const Inst& in, std::uint32_t mask, bool commit);
  bool claim_source(Warp& w, const Inst& in, int lane, std::uint64_t from, std::uint64_t bytes);
  bool end_reading(Warp& w, BulkStore& s);
  void make_store(const BulkStore& s);

  // async_share.cpp
  Step bulk_share(Warp& w, const Inst& in, std::uint32_t mask);
  Step async_store(Warp& w, const Inst& in, std::uint32_t mask);
  /// Puts a load at the mbarrier at offset `barrier` of the block it goes to.
  bool deliver(Warp& w, const Inst& in, int lane, Async& to, std::uint64_t barrier, BulkLoad load);
  bool barrier_of(Warp& w, const Inst& in, int lane, const Async& to, std::uint64_t& at);
  bool still_same(const BulkLoad& l);
  void land_reduction(const BulkLoad& l, const Stamp& stamp, const std::vector<BulkLoad>& flying,
                      std::size_t next);
  /// Does a reduction in flight change this place?
  [[nodiscard]] bool reduces(std::uint64_t offset) const;
  bool remote_order(Async& by, Warp& w, const Inst& in, int lane, std::uint64_t offset,
                    const Cell& cell, bool reduce);

  // cluster.cpp
  Step map_rank(Warp& w, const Inst& in, std::uint32_t mask);
  Step cluster_arrive(Warp& w, const Inst& in, std::uint32_t mask);
  Step cluster_wait(Warp& w, const Inst& in, std::uint32_t mask);
  bool complete_cluster_barrier();
  bool own(Warp& w, const Inst& in, int lane, std::uint64_t at);

  // mbarrier.cpp
  Step barrier_init(Warp& w, const Inst& in, std::uint32_t mask);
  Step barrier_arrive(Warp& w, const Inst& in, std::uint32_t mask);
  Step barrier_transactions(Warp& w, const Inst& in, std::uint32_t mask);
  Step barrier_test(Warp& w, const Inst& in, std::uint32_t mask);
  /// Of this block; in another block, or none: reported.
  MBarrier* find(Warp& w, const Inst& in, const AsyncAddress& a, int lane);
  MBarrier* find_at(Async& by, Warp& w, const Inst& in, int lane, std::uint64_t at);
  bool arrive(Async& by, Warp& w, const Inst& in, int lane, std::uint64_t at, MBarrier& m,
              std::uint32_t count);
  bool add_transactions(Async& by, Warp& w, const Inst& in, int lane, std::uint64_t at, MBarrier& m,
                        std::int64_t bytes);
  /// What a warp of `by` did so far is known to whoever waits for the phase.
  void publish(Async& by, const Warp& w, MBarrier& m);
  void complete_if_done(MBarrier& m);
  /// Lands what completes this mbarrier.
  bool settle(MBarrier& m);
  bool settle_loads(MBarrier& m);
  bool place_object(Warp& w, const Inst& in, int lane, std::uint64_t at, bool live);
  /// What a suspended warp waits for.
  std::string wait_text(const Warp& w) const;
  std::string describe(std::uint64_t at, const MBarrier& m) const;

  Block& b_;
  std::vector<PerWarp> warps_;
  std::map<std::uint64_t, MBarrier> barriers_;  ///< by offset in shared memory
  std::uint32_t cluster_phase_ = 0;
  ClusterOrder order_;  ///< of other blocks
  int stuck_ = 0;       ///< times that nobody could go on, since anything changed
};

}  // namespace hone::emulator
