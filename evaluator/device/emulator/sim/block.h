// One thread block in flight: its warps, shared memory, checkers and counters. One host thread.
// run_warp.cpp runs instructions, control.cpp branches and calls, access*.cpp move data,
// traffic.cpp counts what that costs, atomics.cpp and collectives.cpp do the rest.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "evaluator/device/emulator/lanes/dot.h"
#include "evaluator/device/emulator/lanes/warp_loops.h"
#include "evaluator/device/emulator/sim/cache.h"
#include "evaluator/device/emulator/sim/findings.h"
#include "evaluator/device/emulator/sim/lane_stores.h"
#include "evaluator/device/emulator/sim/memory.h"
#include "evaluator/device/emulator/sim/order.h"
#include "evaluator/device/emulator/sim/run_state.h"
#include "evaluator/device/emulator/sim/shadow.h"
#include "evaluator/device/emulator/sim/touches.h"
#include "evaluator/device/emulator/sim/warp.h"

namespace hone::emulator {

/// Without the library call that std::popcount is on plain x86-64.
inline std::uint32_t count_bits(std::uint32_t v) {
  v -= (v >> 1) & 0x55555555u;
  v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
  return (((v + (v >> 4)) & 0x0F0F0F0Fu) * 0x01010101u) >> 24;
}

/// What an access may touch of its space.
struct Bounds {
  std::uint64_t begin = 0, end = 0;
  [[nodiscard]] bool hold(std::uint64_t at, std::uint32_t bytes) const {
    return at >= begin && at + bytes <= end && at + bytes >= bytes;
  }
};

/// Of a warp's addresses.
struct AddressSummary {
  std::uint64_t low_bits = 0;  ///< 0 in the bits that are 0 in every address
  std::uint64_t lowest = 0, highest = 0;
};

/// Pseudo-random numbers of a schedule: the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed = 0) : state_(seed) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(next()) * n >> 64);
  }

 private:
  std::uint64_t state_;
};

/// How a block's turn ended.
enum class Progress {
  kFinished,
  kTurn,     ///< it can go on
  kPolling,  ///< every warp that could run polled memory: let other blocks run
  kWaiting,  ///< nothing can run before another block of its cluster acts
  kFailed    ///< RunState::failure
};
class Async;

/// The place in the grid of the block with this number: the blocks of a cluster follow each other.
[[nodiscard]] std::array<std::uint32_t, 3> block_of(const LaunchConfig& launch,
                                                    std::uint64_t number);

/// A demangled name.
[[nodiscard]] std::string readable(const std::string& name);

/// After an instruction wrote registers while wgmma results are in flight: a plain copy of one is
/// one too (wgmma.cpp).
void follow_wgmma(Warp& w, const Function& function, const Inst& in, std::uint32_t mask);

/// Adds `executions` of one tensor-core instruction (tensor_types.cpp).
void count_tensor(Counters& counters, const TensorOp& op, std::uint64_t executions,
                  const Profile& profile);

class Block {
 public:
  explicit Block(RunState& run);
  ~Block();
  /// Begins the block with this number (block_of); the object may have run another before.
  void start(std::uint64_t number);
  /// Runs its warps until one of the reasons above.
  Progress advance();
  /// The blocks of its cluster, itself included, by rank; they live as long as any of them runs.
  /// Cycles since the launch began, with waits for other blocks.
  void begins_at(std::uint64_t cycle) { began_ = cycle; }
  [[nodiscard]] std::uint64_t ended_at() const { return ended_; }
  void join_cluster(std::span<Block* const> blocks, int rank) {
    cluster_ = blocks;
    cluster_rank_ = rank;
  }
  /// What a block that waits polls ("polls flag+0 (buffer of 4 B)"), and where.
  [[nodiscard]] std::optional<Finding> waiting_for() const;

 private:
  friend class Async;
  enum class Step { kNext, kYield, kFail };

  void start_warps();
  void enter_sm(std::uint64_t number);
  void finish_block();
  void note_run();  ///< of neighbours, that this block belongs to
  void shuffle_warps();
  std::uint64_t turn_length();  ///< of a seeded schedule
  /// Likewise: sometimes nobody runs until the run has executed more.
  void hold(Hold& h, std::uint64_t one_of);
  bool is_held(Hold& h);
  void end_holds();
  /// The word at the first of address_, which the warp has just read.
  void note_word(Warp& w, const Inst& in, std::uint32_t mask);
  /// Of one of the last two words that it read: others may have it back before it goes on.
  void begin_watch(Warp& w);
  void look_at_watch();
  [[nodiscard]] bool is_watched(const Warp& w) const {
    return run_.watch.word.address != 0 && run_.watch.block == place_ && run_.watch.warp == w.index;
  }
  bool nothing_else_runs();
  /// Has nobody run for some turns of this block, or, where warps poll, stored in its last turns?
  [[nodiscard]] bool others_wait() const {
    return idle_turns_ >= kIdleTurns || (quiet_turns_ >= kQuietTurns && run_.polled);
  }
  bool run_warp(Warp& w);  ///< until it waits, ends, or its turn is over
  /// Is it a counter that the blocks of a sample draw from for those that were left out?
  [[nodiscard]] bool counts_for_all(const Inst& in, std::uint32_t mask) const;
  /// What those have added since this sample drew from it last.
  void add_left_out(const Inst& in, std::uint32_t mask, std::uint8_t* data);
  /// Inst::sync, for branches as the machine code has them.
  [[nodiscard]] std::uint32_t sync_of(const Inst& in) const {
    if (in.kind != Kind::kBranch || run_.syncs.empty()) return in.sync;
    const std::uint8_t known = run_.syncs[in.place];
    return known != kSyncUnknown ? known : in.sync;
  }
  void count_constant(const Inst& in, std::uint32_t mask);
  void note_latency(const Inst& in);  ///< of the access just made
  /// Of atomics on global memory: whose turn it is, and how long it was.
  void note_turn(Warp& w, const Inst& in, std::uint32_t mask);
  void leave_turn(Warp& w);
  bool spend(std::uint64_t instructions);  ///< false: more than the run may have
  [[nodiscard]] bool cancelled() const;
  [[nodiscard]] std::string why_cancelled() const;
  /// Straight code: `count` instructions from `pc` for the lanes `active`.
  template <bool kTainted>
  bool run_straight(Warp& w, std::int32_t pc, std::int32_t count, std::uint32_t active);
  void time_straight(Warp& w, std::int32_t pc, std::int32_t count);
  Step special_instruction(Warp& w, const Inst& in, std::uint32_t mask);
  [[nodiscard]] std::string unsupported_text(const Inst& in) const;
  void exit_lanes(Warp& w, std::uint32_t lanes);
  void return_lanes(Warp& w, std::uint32_t lanes);
  bool branch(Warp& w, const Inst& in, std::uint32_t taken);
  bool branch_indexed(Warp& w, const Inst& in, std::uint32_t mask);
  bool call(Warp& w, const Inst& in, std::uint32_t mask, std::int32_t target);
  bool call_indirect(Warp& w, const Inst& in, std::uint32_t mask);
  void special_register(Warp& w, const Inst& in, std::uint32_t mask);
  void pack(Warp& w, const Inst& in, std::uint32_t mask);
  void unpack(Warp& w, const Inst& in, std::uint32_t mask);

  // progress inside a warp
  /// Lets others run first: siblings, or lanes that wait at a join, which then is given up.
  bool rotate(Warp& w, bool give_up_joins);
  /// Of a seeded schedule: sometimes lets a part of the executing lanes go on alone, the others
  /// come after them. Returns those that go on.
  std::uint32_t split_lanes(Warp& w);
  /// Likewise, before an access to memory that others see; true when the lanes have been split.
  bool part_lanes(Warp& w, const Inst& in);
  /// Lanes that part_lanes let go on alone, where all are at one place again.
  bool join_lanes(Warp& w);
  /// Lets lanes leave that wait for nothing but to exit together; true when some did.
  bool exit_waiting(Warp& w);
  /// Are all named lanes that live here? If not, the entry waits and others get their turn.
  bool gather_lanes(Warp& w, std::uint32_t members, Step& step);
  /// Reports lanes that wait at the top entry's place for others, `missing`, which wait elsewhere
  /// or left: at whichever of the two places the program comes to first.
  void fail_apart(const Warp& w, std::uint32_t missing);

  // barriers
  Step barrier(Warp& w, const Inst& in, std::uint32_t mask);
  /// Are the barrier's number and count such as it may have? If not, a report.
  bool barrier_operands(Warp& w, const Inst& in, std::uint32_t mask);
  bool release_barriers();
  bool release_barrier(int id);
  /// Why the barrier at which the warp waits will never complete.
  [[nodiscard]] std::string missing_at_barrier(const Warp& w) const;

  // data
  bool access(Warp& w, const Inst& in, std::uint32_t mask);
  bool load_or_store(Warp& w, const Inst& in, std::uint32_t mask);
  bool global_access(Warp& w, const Inst& in, std::uint32_t mask);
  // what words held when (ordered_words.cpp)
  /// Of the words of global memory that the lanes' bytes lie in, in the order of lanes:
  /// each(lane, address).
  template <class Each>
  void for_each_word(std::uint32_t mask, std::uint32_t bytes, Each&& each) const {
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      if (window(address_[lane]) != Space::kGlobal) continue;
      const std::uint64_t first = address_[lane] / OrderedWords::kBytes * OrderedWords::kBytes;
      for (std::uint64_t at = first; at < address_[lane] + bytes; at += OrderedWords::kBytes)
        each(lane, at);
    }
  }
  std::uint64_t word_at(std::uint64_t address);
  /// The words at `address_`, before an ordered store or atomic.
  void keep_words(std::uint32_t mask, std::uint32_t bytes);
  void note_words(const Warp& w, std::uint32_t mask, std::uint32_t bytes);
  /// Of an ordered load that memory has answered: the registers `to` get what was there at its
  /// time.
  void look_back(Warp& w, const Inst& in, std::uint32_t mask, const Slot* to);
  /// An atomic that can change nothing, whatever is there.
  [[nodiscard]] bool only_reads(const Inst& in, std::uint32_t mask) const;
  /// Cycles since the launch began.
  [[nodiscard]] std::uint64_t launch_time(std::int64_t of_block) const {
    return began_ + static_cast<std::uint64_t>(std::max<std::int64_t>(0, of_block));
  }
  void expect_next(Pattern& p, std::uint64_t bytes, bool store);
  bool shared_access(Warp& w, const Inst& in, std::uint32_t mask);
  /// Of the variable that the address comes from, where that is known.
  [[nodiscard]] Bounds shared_bounds(const Inst& in) const {
    if (in.variable == 0) return {0, run_.shared_bytes};
    const Extent& v = function_->variables[in.variable];
    if (v.space != Space::kShared) return {0, run_.shared_bytes};
    if (v.dynamic) return {run_.static_shared, run_.shared_bytes};
    const bool vector = in.vec > 1 && in.kind != Kind::kStore;
    return {v.offset, std::uint64_t{v.offset} + v.bytes + (vector ? v.padding : 0)};
  }
  [[nodiscard]] Bounds local_bounds(const Warp& w, const Inst& in) const;
  bool fast_shared_load(const Warp& w, const Inst& in, const Pattern& p);
  bool fast_shared_store(const Warp& w, const Inst& in, const Pattern& p);
  /// Of address_, some in another block of the cluster (sim/cluster.cpp).
  bool cluster_access(Warp& w, const Inst& in, std::uint32_t mask);
  /// Bytes of another block's shared memory, or of this one's; null: a failure was reported.
  /// `value`: what will be written there, if that is known.
  /// Have all blocks of its cluster begun, as a barrier of theirs has told?
  [[nodiscard]] bool met_cluster() const;
  std::uint8_t* cluster_data(Warp& w, const Inst& in, int lane, std::uint64_t address,
                             std::uint32_t bytes, const std::uint8_t* value = nullptr);
  bool note_cluster(Warp& w, const Inst& in, int lane, Block& owner, std::uint64_t granule,
                    const std::uint8_t* value);
  bool fail_cluster_race(const Warp& w, const Inst& in, int lane, Block& owner,
                         std::uint64_t granule, const Stamp* other, bool after_write);
  /// Whose stamp it is, in words.
  [[nodiscard]] std::string toucher(const Stamp& stamp) const;
  /// An mbarrier at which other blocks arrived was waited for.
  void synchronised_in_cluster();
  /// A fence or release: what came before it counts as published from here on.
  void publish(const Warp& w, bool beyond_the_block);
  [[nodiscard]] int another_lane(std::uint32_t mask, std::uint64_t address, int lane) const;
  bool checked_shared_load(Warp& w, const Inst& in, std::uint32_t mask);
  bool checked_shared_store(Warp& w, const Inst& in, std::uint32_t mask);
  /// Moves elements of register width between registers and memory; false: not of that kind.
  /// `base` is where address 0 would be.
  bool move_elements(const Inst& in, std::uint32_t mask, std::uint8_t* base);
  [[nodiscard]] std::uint32_t local_lines(std::uint32_t mask, std::uint32_t bytes) const;
  bool local_access(Warp& w, const Inst& in, std::uint32_t mask);
  bool bank_access(Warp& w, const Inst& in, std::uint32_t mask, const std::uint8_t* bytes,
                   std::uint64_t size, std::uint64_t base);
  bool formal_access(Warp& w, const Inst& in, std::uint32_t mask);
  void taint_formal(Warp& w, const Inst& in, int lane, std::uint64_t at);
  bool atomic(Warp& w, const Inst& in, std::uint32_t mask);
  std::uint32_t shared_atomics(const Warp& w, const Inst& in, std::uint32_t mask, bool& changed);
  std::uint32_t sure_atomics(const Warp& w, const Inst& in, std::uint32_t mask, std::uint64_t base);
  bool apply_shared(const Inst& in, std::uint32_t mask, std::uint64_t base);
  /// Do all accesses of `bytes` at address_ - base lie, aligned, in this block's shared memory?
  [[nodiscard]] bool all_shared(std::uint32_t bytes, std::uint64_t base) const {
    const std::uint64_t lo = summary_.lowest - base;
    const std::uint64_t hi = summary_.highest - base;
    return (summary_.low_bits & (bytes - 1)) == 0 && lo <= hi && hi < run_.shared_bytes &&
           run_.shared_bytes - hi >= bytes;
  }
  void compute_addresses(Warp& w, const Inst& in, std::uint32_t mask);
  void note_poll(Warp& w, const Inst& in, std::uint32_t mask) {
    const int lane = __builtin_ctz(mask);
    std::uint64_t before = w.polled_address;
    if (in.space == Space::kShared) before -= kSharedBase;
    run_.polled = run_.polled || (w.polled == &in && before == address_[lane]);
    w.polled = &in;
    w.polled_lane = lane;
    w.polled_address = address_[lane];
    if (in.space == Space::kShared) w.polled_address += kSharedBase;
  }
  [[nodiscard]] Space window(std::uint64_t address) const;
  /// Makes span_ hold the bytes; false, and span_ as it was: no allocation does.
  bool find_span(std::uint64_t address, std::uint64_t bytes) {
    if (span_.holds(address, bytes)) return true;
    Span& kept = spans_[address / kPageBytes % spans_.size()];
    if (!kept.holds(address, bytes) && !run_.memory->span(address, bytes, kept)) return false;
    span_ = kept;
    return true;
  }
  void count_atomic(Warp& w, const Inst& in, std::uint32_t mask, bool shared);
  void count_shared_atomic(std::uint32_t mask, std::uint64_t base);
  /// Of those that ptxas makes a loop of compare-and-swaps of.
  void count_shared_loop(Warp& w, std::uint32_t mask, std::uint32_t bytes);
  void count_shared_turns(Warp& w, const Inst& in, std::uint32_t mask, std::uint64_t base);
  void count_remote(const Inst& in, std::uint32_t mask);
  void count_fence(Warp& w, const Inst& in);
  void count_membars(Warp& w, Membars membars);
  void await_stores(Warp& w);
  void count_sleep(Warp& w, const Inst& in, std::uint32_t mask);
  void count_prefetch(const Inst& in, std::uint32_t mask);
  void count_hot_store(std::uint64_t line, std::uint32_t sectors);
  /// Of a bulk reduction: `sectors` of it are changed.
  void count_reduced_line(std::uint64_t line, std::uint32_t sectors, bool integer);
  void note_atomic_line(std::uint64_t line);
  void forget_l1();  ///< what an acquire does
  void count_global(Warp& w, const Inst& in, bool store);
  /// Bytes of a page that began uninitialised.
  void set_written(std::uint64_t* bits, std::uint64_t first, std::uint64_t count) const {
    if (run_.concurrent)
      bits_set_shared(bits, first, count);
    else
      bits_set_long(bits, first, count);
  }
  Pattern& pattern_slot(const Inst& in) {
    return run_.patterns[(reinterpret_cast<std::uintptr_t>(&in) / sizeof(Inst)) & 255];
  }
  void reshape(Pattern& p, const Inst& in, std::uint32_t mask);
  void analyse(Pattern& p, const Inst& in);
  void find_lines(Pattern& p, const Inst& in, std::uint32_t phase);
  /// Of the access that compute_addresses was called for, analysed.
  Pattern& current_pattern(const Inst& in) {
    Pattern& p = pattern_slot(in);
    if (!p.analysed) analyse(p, in);
    return p;
  }
  /// Of address_, whoever filled it, analysed.
  Pattern& pattern(const Inst& in, std::uint32_t mask);
  std::uint32_t bank_cycles(const Inst& in, std::uint32_t mask) const;
  std::uint32_t word_cycles(const Pattern& p) const;
  void touch_line(std::uint64_t line, std::uint32_t sectors);

  // races between blocks on global memory
  void start_tracking(std::uint32_t number);
  /// Are there other blocks of the cluster, and is global memory's order between them followed?
  [[nodiscard]] bool orders_cluster() const {
    return tracking_ == Tracking::kStamps && cluster_.size() > 1;
  }
  /// Of an access that is ordered, in whichever memory: what it tells and hears of those.
  void order_in_cluster(const Warp& w, const Inst& in) {
    if (in.release) global_order_.release_to_cluster(w.index);
    if (in.kind != Kind::kStore) global_order_.take_over_from_cluster(w.index);
  }
  /// Of `bytes` each at `address_`: stored or changed, for check_noncoherent (stores.h).
  void note_stored(std::uint32_t mask, std::uint64_t bytes);
  /// False when a non-coherent load sees what this launch stored.
  bool check_noncoherent(const Warp& w, const Inst& in, std::uint32_t mask);
  /// Of the lines at the lanes' addresses (discard.cpp).
  bool discard(Warp& w, const Inst& in, std::uint32_t mask);
  /// Races between lanes of a warp on global memory (lane_stores.h): after a plain store, and
  /// before a plain load; false when it races.
  void note_lane_stores(const Warp& w, const Inst& in, std::uint32_t mask);
  bool check_lane_loads(const Warp& w, const Inst& in, std::uint32_t mask);
  bool fail_lane_race(const Warp& w, const Inst& in, int lane, int other, std::uint32_t place);
  /// Before every access of `in` to global memory at `address_`; false when it races.
  bool note_global(Warp& w, const Inst& in, std::uint32_t mask);
  /// The same for one range by one lane (bulk copies). `value`: the bytes to be written, if known.
  bool note_global_bytes(Warp& w, const Inst& in, int lane, std::uint64_t address,
                         std::uint64_t bytes, Touch how, const std::uint8_t* value);
  void mark_global(const Inst& in, std::uint32_t mask, Touch how);
  [[nodiscard]] GlobalStamp stamp_of(const Warp& w, const Inst& in, int lane, Touch how) const;
  /// The cells of the chunk in which the byte `at` of the span lies.
  GlobalCell* global_cells(const Span& span, std::uint64_t at);
  bool stamp_loads(Warp& w, const Inst& in, std::uint32_t mask, std::uint32_t bytes);
  bool stamp_global(Warp& w, const Inst& in, int lane, const Span& span, std::uint64_t address,
                    std::uint64_t bytes, Touch how, const std::uint8_t* value);
  [[nodiscard]] std::string block_name(std::uint32_t number) const;
  bool fail_global_race(const Warp& w, const Inst& in, int lane, std::uint64_t address,
                        const GlobalCell& before, const GlobalStamp& now);

  // stores of a seeded schedule that others see late (late.cpp)
  /// What the store puts where a lane's address_ is, of at most `each` bytes a piece.
  std::vector<LateStore> pieces_of(const Warp& w, const Inst& in, int lane, std::size_t each) const;
  /// Draws whether those of this execution are.
  bool may_be_late(const Inst& in);
  /// Of address_.
  void keep_late(const Warp& w, const Inst& in, std::uint32_t mask);
  void land(const LateStore& s);
  /// Those in this range that the warp sees.
  void land_late(const Warp& w, std::uint64_t begin, std::uint64_t end);
  void land_all_late();
  void land_some_late();
  void show_late_to_block(const Warp& w);
  // and those that others are made to see in parts (tears.cpp)
  [[nodiscard]] bool is_torn(const Inst& in);
  /// Of address_: stores its first words. The warp does not go on before all are stored.
  void tear(Warp& w, const Inst& in, std::uint32_t mask);
  /// The warp is about to read so many bytes at each of address_.
  void note_looked(const Warp& w, std::uint32_t mask, std::uint32_t bytes);
  /// Stores the next words of what this block has torn, where others have seen those before.
  void go_on_tearing();

  // collectives
  Step shuffle(Warp& w, const Inst& in, std::uint32_t mask);
  Step vote(Warp& w, const Inst& in, std::uint32_t mask);
  Step match(Warp& w, const Inst& in, std::uint32_t mask);
  Step reduce(Warp& w, const Inst& in, std::uint32_t mask);
  Step elect(Warp& w, const Inst& in, std::uint32_t mask);

  // tensor cores (tensor.cpp)
  Step tensor(Warp& w, const Inst& in, std::uint32_t mask);
  Step whole_warp(Warp& w, const Inst& in, std::uint32_t mask);
  bool same_in_warp(Warp& w, const Inst& in, const TensorOp& op);
  void mma(Warp& w, const Inst& in, const TensorOp& op);
  const DotModel& model_of(const TensorOp& op);
  void mma_taint(Warp& w, const Inst& in, const TensorOp& op);
  void matrix_rows(Warp& w, const Inst& in, const TensorOp& op);

  // wgmma (wgmma.cpp)
  struct AsyncReads {  ///< 16-byte pieces of shared memory that a product may still read
    int warp = 0;
    std::uint32_t group = 0;
    std::vector<std::uint64_t> pieces;  ///< bits
    std::uint32_t tick = 0;             ///< of the warp, when it began
  };
  bool wgmma(Warp& w, const Inst& in, const TensorOp& op);
  bool wgmma_product(Warp& w, const Inst& in, const TensorOp& op);
  bool wgmma_operand(Warp& w, const Inst& in, const TensorOp& op, bool is_a, AsyncReads& reads,
                     std::uint32_t* raw, std::uint64_t* unknown);
  void wgmma_wait(Warp& w, std::uint32_t done);
  void finish_reads(const AsyncReads& r);
  /// What a product read, once a warp of its group has waited for it: the four read together, so
  /// that whoever comes after that warp's wait comes after all of it.
  struct FinishedReads {
    int first = 0;  ///< of the four warps
    std::uint32_t group = 0;
    std::vector<std::uint64_t> pieces;     ///< bits, as in AsyncReads
    std::array<std::uint32_t, 4> since{};  ///< tick of each warp's wait, 0: not yet
  };
  /// Has some warp of the group not begun what this one waits for?
  [[nodiscard]] bool awaits_warpgroup(const Warp& w, std::uint32_t group) const;
  bool wait_for_warpgroup(Warp& w, const TensorOp& op);
  bool release_warpgroups();
  /// Is the last read at an offset that of a product, and does the warp with the bit `own` come
  /// after a wait for it? `knows`: what that warp does of another's tick.
  template <class Knows>
  [[nodiscard]] bool product_finished(std::uint64_t offset, const Cell& before, std::uint32_t own,
                                      Knows knows) const {
    const Stamp& r = before.reader;
    if (r.tick == 0 || r.warp >= kMaxWarps) return false;
    const int first = r.warp & ~3;
    if (before.epoch == clocks_.epoch() && (before.readers & ~own & ~(0xFu << first))) return false;
    for (auto f = finished_reads_.rbegin(); f != finished_reads_.rend(); ++f) {
      if (f->first != first || !(f->pieces[offset >> 10] >> (offset >> 4 & 63) & 1)) continue;
      const std::uint32_t since = f->since[r.warp & 3];
      if (since && r.tick > since) return false;  // read again since
      for (int k = 0; k < 4; ++k)
        if (f->since[k] && knows(first + k, f->since[k])) return true;
      return false;
    }
    return false;
  }
  std::vector<FinishedReads> finished_reads_;
  /// At the end of a block: did the warps of each warpgroup run the same products?
  [[nodiscard]] bool wgmma_agree();
  /// False, with a report, when a product in flight may read these bytes.
  bool wgmma_free(const Warp& w, const Inst& in, int lane, std::uint64_t offset,
                  std::uint32_t bytes);
  std::vector<AsyncReads> async_reads_;
  const TensorOp* modelled_ = nullptr;  ///< what model_ is of
  DotModel model_;

  // uninitialised values
  std::uint32_t* taints(Warp& w);
  static std::uint32_t* formal_taints(Warp& w, std::uint32_t frame, const Function& f);
  void taint_frame(Warp& w, const Entry& call, const CallSite& site);
  void taint_result(Warp& w, const Entry& call, std::uint32_t to, const CallArgument& from,
                    std::uint32_t bytes, std::uint32_t lanes);
  /// `taint`: of the frame.
  void taint_live_in(Warp& w, const Function& f, std::uint32_t* taint, std::uint32_t lanes);
  /// Forgets that the warp carried uninitialised values, where it no longer does.
  void settle_taint(Warp& w);
  void propagate_taint(Warp& w, const Inst& in, std::uint32_t mask);
  void set_taint(Warp& w, const Inst& in, std::uint32_t mask, std::uint32_t taint);
  void taint_slot(Warp& w, Slot slot, std::uint32_t taint, std::uint32_t mask);
  bool tainted_address(Warp& w, const Inst& in, std::uint32_t mask);
  bool tainted_value(Warp& w, const Inst& in, std::uint32_t mask, const char* use);
  std::uint32_t slot_taint(Warp& w, const Inst& in, Slot slot) const;
  /// Of a store's element by lane: was it uninitialised?
  bool element_taint(Warp& w, const Inst& in, int element, int lane) const {
    return slot_taint(w, in, function_->extra[in.extra + element]) >> lane & 1;
  }
  bool is_hollow(const Inst& in, int element) const;
  // of which bits are uninitialised (partial.cpp)
  [[nodiscard]] bool is_wide(Slot slot) const;
  [[nodiscard]] Partial* partial_of(Warp& w, std::uint32_t reg);
  /// What the instruction, about to be executed, makes of such bits: for propagate_taint.
  void weigh_bits(Warp& w, const Inst& in, std::uint32_t mask);
  void add_partial(Warp& w, std::uint32_t reg, std::uint32_t lanes, const std::uint64_t* bits);
  void forget_partials(Warp& w, const Inst& in, std::uint32_t mask);
  /// After a load of load_taint_, by holes_.
  void refine_load(Warp& w, const Inst& in, std::uint32_t mask);
  /// Of an element that a lane loads: nobody has written these of its bytes.
  void note_hole(int lane, std::uint32_t bytes) { holes_[lane] |= bytes; }
  void leave_unwritten(const Inst& in, std::uint32_t elements, std::uint64_t at);

  // reports (report.cpp); false ends the run
  bool fail(FindingKind kind, std::string what, const Warp& w, int lane, const Inst& in);
  /// For an instruction that is at the top entry's pc: a fault, or what the verdict says.
  bool fail(Verdict verdict, std::string what, const Warp& w, int lane, std::uint32_t line);
  /// Always false; where all findings are looked for, `dropped_` has the lane to go on without.
  bool fail_access(const Warp& w, const Inst& in, int lane, std::uint64_t address, const char* why);
  /// True: noted, the run goes on.
  bool fail_race(const Warp& w, const Inst& in, int lane, std::uint64_t offset, const Cell& before);
  bool add_finding(Finding finding, std::uint32_t place, bool may_go_on);
  Finding finding_at(FindingKind kind, std::string what, const Warp& w, int lane,
                     const Inst* in) const;
  // races of values that selections may throw away (doubts.cpp)
  bool doubt(const Inst& in, std::uint32_t lanes, Finding finding, bool global);
  void begin_doubts(Warp& w, const Inst& in, std::uint32_t mask);
  void end_doubts(Warp& w, const Inst& in, std::uint32_t mask);
  void settle_doubts(Warp& w, const Inst& in, std::uint32_t mask);
  void confirm(const Warp& w, const Doubt& d, int lane);
  bool settle_held();  ///< at the block's end, or before it fails; false: the run has failed
  CodePlace code_place(std::uint32_t place) const;

  // printf and assert (printf.cpp)
  void print(const Warp& w, const Inst& in, std::uint32_t mask);
  bool fail_assert(const Warp& w, const Inst& in, int lane);
  std::uint64_t call_argument(const Inst& in, int lane, std::size_t index) const;
  /// Bytes at a generic address as the lane sees them; false: not all of them are there.
  bool read_generic(const Warp& w, int lane, std::uint64_t address, void* out,
                    std::size_t bytes) const;
  std::string read_string(const Warp& w, int lane, std::uint64_t address) const;
  std::string describe(std::uint64_t address) const;
  std::string describe_past(const Warp& w, const Inst& in, std::uint64_t address) const;

  [[nodiscard]] void* reg(Slot s) const {
    return s >= 0 ? frame_ + s : const_cast<std::uint8_t*>(constants_) + ~s;
  }
  [[nodiscard]] std::uint32_t* reg32(Slot s) const { return static_cast<std::uint32_t*>(reg(s)); }
  [[nodiscard]] std::uint64_t* reg64(Slot s) const { return static_cast<std::uint64_t*>(reg(s)); }

  RunState& run_;
  const ModuleImpl& module_;
  const std::uint8_t* constants_;
  std::uint8_t* frame_ = nullptr;  ///< of the entry in hand
  const Function* function_ = nullptr;
  std::array<std::uint32_t, 3> id_{};
  std::uint64_t place_ = 0;  ///< of the block in the grid
  std::uint32_t threads_ = 0;
  bool seeded_ = false;
  std::uint64_t executed_ = 0;  // [warp instructions]
  std::uint64_t began_ = 0, ended_ = 0;
  std::vector<std::uint64_t> kept_words_;  ///< between keep_words and note_words
  std::vector<Warp> warps_;
  std::vector<std::uint32_t> order_;  ///< of the warps' turns
  Dice dice_;
  std::uint64_t preempt_ = ~0ull;  ///< a warp's turn may end at any access from here on
  std::vector<LateStore> late_;
  Hold hold_;  ///< of the whole block
  std::uint64_t held_at_ = 0;
  static constexpr int kQuietTurns = 4;
  int quiet_turns_ = 0;
  std::uint64_t changes_seen_ = 0;      ///< RunState::changes, at the last turn
  static constexpr int kIdleTurns = 8;  ///< others may be about to begin
  int idle_turns_ = 0;
  std::uint64_t executed_seen_ = 0;
  int vain_turns_ = 0;            ///< in which no other warp went on
  std::uint64_t moves_seen_ = 0;  ///< at the last of them
  bool gives_way_ = false;        ///< to other blocks, as soon as each of its warps had a turn
  std::span<Block* const> cluster_;
  int cluster_rank_ = 0;
  SectorCache l1_;
  SharedL1* sm_l1_ = nullptr;
  Tracking tracking_ = Tracking::kOff;
  std::uint32_t number_ = 0;
  BlockTouches touches_;
  std::vector<LaneStores> lane_stores_;  ///< by warp
  BlockOrder global_order_;
  std::vector<std::uint8_t> shared_;
  SharedShadow shadow_;
  Clocks clocks_;
  bool check_races_ = false, check_init_ = false, counting_ = false;
  bool check_noncoherent_ = false;  ///< there are loads that must not see what the launch stores
  Span span_;                       ///< last global span touched
  std::array<Span, 32> spans_;      ///< those before it, by their addresses
  alignas(64) std::uint64_t address_[32] = {};
  AddressSummary summary_;  ///< of address_
  /// Per word of shared memory: the atomic that last touched it, by number.
  std::vector<std::uint32_t> touched_by_;
  std::uint32_t shared_atomic_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> shared_free_;  ///< words: when [cycle]
  std::array<std::uint64_t, 256> known_lines_{};  ///< some of RunState::atomic_lines
  std::vector<std::uint32_t> latencies_;          ///< of the accesses of the straight code in hand
  const WarpLoops& loops_ = warp_loops();
  std::array<std::uint32_t, 16> arrived_{};   ///< bar.arrive: warps by barrier
  std::array<std::uint32_t, 16> expected_{};  ///< threads, said by those that are there; 0: nobody
  std::uint32_t access_latency_ = 0;
  std::uint64_t* waited_ = nullptr;                 ///< RunState::waited of the function that runs
  std::array<std::uint64_t, 32> constant_lines_{};  ///< lines of the constant cache, + 1
  std::uint32_t load_taint_ = 0;                    ///< lanes that loaded something uninitialised
  std::uint32_t holes_[32] = {};         ///< bytes of it, by lane; 0: it is not known which
  const Inst* undefined_for_ = nullptr;  ///< undefined_ is of its next execution
  std::uint64_t undefined_[32] = {};     ///< bits of its result, by lane
  /// Uses of uninitialised shared memory: a race explains them better, if one is found.
  std::vector<Held> held_;
  std::vector<Doubt> doubted_;  ///< by the load under way
  bool raced_ = false;          ///< in this block
  std::uint32_t dropped_ = 0;   ///< lanes whose access failed, where the run goes on
  std::string uninitialised_;   ///< the last such place
  bool uninitialised_global_ = false;
  static constexpr const char* kStoredToGlobal = "is stored to global memory";
  std::uint32_t max_local_ = 0, max_registers_ = 0;
  std::unique_ptr<Async> async_;  ///< made by the first instruction that needs it
};

}  // namespace hone::emulator
