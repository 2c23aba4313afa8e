// What the blocks of one run share, or those that one thread of it runs: counters, caches that
// outlive a block, findings.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "evaluator/device/emulator/lanes/warp_loops.h"
#include "evaluator/device/emulator/sim/cache.h"
#include "evaluator/device/emulator/sim/findings.h"
#include "evaluator/device/emulator/sim/memory.h"
#include "evaluator/device/emulator/sim/order.h"
#include "evaluator/device/emulator/sim/ordered_words.h"
#include "evaluator/device/emulator/sim/warp.h"

namespace hone::emulator {

/// The shape of a warp's addresses: what repeats from one execution of an instruction to the next,
/// with what follows from it.
struct Pattern {
  const Inst* inst = nullptr;
  std::uint32_t mask = 0;
  AddressShape shape;
  bool analysed = false;  ///< the rest is known, too
  int distinct = 0;
  std::uint64_t address[32];  ///< distinct ones, relative
  std::uint8_t lane[32];      ///< the first lane at each
  bool many[32];              ///< more than one lane is there
  std::uint8_t lanes[32];     ///< how many
  std::uint32_t cycles = 0;   ///< of the 32 banks; the same wherever the pattern lies
  // Lines and sectors, where lane 0 lies `phase` bytes into its line.
  std::uint32_t phase = ~0u;
  int lines = 0;
  std::uint32_t sector_count = 0;
  std::int64_t line[64];  ///< relative to lane 0's
  std::uint8_t sectors[64];
  Span span;                 ///< where the next global access of the instruction may be
  std::uint64_t lowest = 0;  ///< of the last one
  /// From one execution to the next: the last distance, and the last that came twice running.
  std::uint64_t step = 0, steady_step = 0;
};

/// Where and how a run failed.
struct Failure {
  Verdict verdict = Verdict::kOk;
  std::string detail;
};

/// How races between blocks are looked for.
enum class Tracking : std::uint8_t { kOff, kMarks, kStamps };

struct RunState;

/// The threads that run blocks of one launch together (parallel.cpp).
class Fellows {
 public:
  virtual ~Fellows() = default;
  /// Now and then; false: together they have executed more than they may.
  [[nodiscard]] virtual bool tell(RunState& mine) = 0;
  [[nodiscard]] virtual bool stopped() const = 0;
};

class BlockKinds;

/// A word of global memory that warps count with, in a sample (RunOptions::share_counters).
struct SharedCounter {
  std::uint64_t draws = 0;   ///< instructions that added to it
  std::uint64_t added = 0;   ///< by the last of them; of atom.inc, lanes
  std::uint64_t before = 0;  ///< all of them
  int bytes = 4;
};

/// Counters::runs, run_bends and run_bends_squared, as blocks end.
struct BlockRuns {
  std::uint64_t next = ~0ull;  ///< the block that would go on with the run
  std::uint64_t runs = 0;      ///< that have ended
  double sum = 0, blocks = 0;  ///< of the run
  double before[2] = {};       ///< means of the two runs before it
  double all_sum = 0, all_blocks = 0;
};

inline constexpr std::uint8_t kSyncUnknown = 255;

/// Compare-and-swaps on one word: warps take turns.
struct Turns {
  std::uint64_t lanes = 0, released = 0, held = 0;  // held: [cycles]
  std::uint64_t block = 0;                          ///< the first that came
  bool several = false;                             ///< blocks
};

/// A line that several stores went to.
struct HotLine {
  std::uint64_t line = 0;
  std::uint64_t score = 0;  ///< more than those that shared its place
  std::uint64_t sectors = 0, blocks = 0, last_block = 0;
};

/// A word that a warp has read before a seeded schedule held it back: when atomics have changed it
/// and it is as it was, the warp goes on, before anybody else.
struct Watch {
  Word word;  ///< address 0: none
  std::uint64_t block = 0;
  int warp = 0;
  bool changed = false, returned = false;
};

/// A store of several words of which others see a part; see sim/tears.cpp.
struct Tear {
  std::uint64_t block = 0;
  int warp = 0;
  const Inst* store = nullptr;
  std::vector<std::vector<LateStore>> parts;  ///< still to come, the next one last; of all lanes
  std::uint64_t since = 0;                    ///< when the last part was stored
  bool seen = false;  ///< another warp has looked since where the next one is to come
  int turns = 0;      ///< of the block, after that
};

/// How often that was done to one instruction.
struct TornBefore {
  std::uint32_t times = 0, seen = 0;
};

/// Shared by the blocks of one run, or by those that one thread of it runs.
struct RunState {
  const ModuleImpl* module = nullptr;
  const LaunchConfig* launch = nullptr;
  Memory::Impl* memory = nullptr;
  const RunOptions* options = nullptr;
  const Profile* profile = nullptr;
  int function = 0;
  std::uint32_t static_shared = 0, shared_bytes = 0;
  Counters counters;
  std::uint64_t executed = 0;
  std::uint64_t l1_wavefronts_x10 = 0;
  std::int64_t l1_bytes = 0;  // [B] a block's share of the L1; 0: not modelled
  /// Per function and instruction; a run of straight code where it was entered, unless the
  /// schedule is seeded.
  std::vector<std::vector<std::uint64_t>> executions, lanes;
  std::vector<std::vector<std::uint64_t>> waited;  ///< likewise: latencies of loads and atomics
  std::unordered_map<std::uint64_t, Turns> turns;  ///< by address, up to a limit
  std::array<HotLine, 256> hot{};
  /// SMs that blocks find warm. Of a sample, blocks that follow each other in the grid are on
  /// different ones, as they are on a GPU.
  struct Sm {
    SharedL1 l1;
    std::uint64_t blocks = 0;  ///< that ran on it since it was cold
  };
  std::deque<Sm> sms;
  std::int64_t sm_l1_bytes = 0;
  /// Most blocks begin when others have ended. Those that run beside each other miss together:
  /// what one of them loads is on its way for all.
  bool sm_is_warm = false;
  std::uint64_t resident = 1;      ///< blocks that one multiprocessor holds at once
  std::uint64_t blocks_of_sm = 1;  ///< that one gets of the whole grid
  std::uint64_t last_number = ~0ull;
  std::size_t last_sm = 0;
  std::uint64_t given_by_dram = 0;                 ///< of Counters::given_path_sum
  std::uint64_t touched_sectors = 0;               ///< distinct, of L1 misses and stores
  std::uint64_t lone_sectors = 0;                  ///< of them: the other half of 64 B is not
  std::uint64_t traffic_sectors = 0;               ///< L1 misses and stores
  std::unordered_set<std::uint64_t> atomic_lines;  ///< distinct, up to a limit
  std::vector<std::uint8_t> syncs;  ///< Inst::sync of branches, by place; empty: as parsed
  std::uint64_t chosen = 0, blocks_in_grid = 0;                      ///< blocks that run, and all
  std::unordered_map<std::uint64_t, SharedCounter> shared_counters;  ///< by address
  const BlockKinds* kinds = nullptr;  ///< of blocks, where predicates tell them apart
  std::unordered_map<std::uint8_t, BlockRuns> block_runs;  ///< by kind
  BlockRuns mixed_runs;                                    ///< of all kinds
  std::optional<OrderedWords> words;                       ///< RunOptions::waits_in_time
  bool waits_for_blocks = false;                           ///< a warp did, as the words say
  std::uint64_t forgiven = 0;  ///< warp instructions that only polled: not held against the limit
  /// Stores and atomics that changed something, in any memory: blocks that only poll while this
  /// stands still wait for something that will not come. Whatever else writes counts here too.
  std::uint64_t changes = 0;
  std::vector<Pattern> patterns = std::vector<Pattern>(256);
  Failure failure;  ///< what ended the run; where all findings are looked for, the first of them
  FindingList findings;
  std::string output;  ///< of printf
  bool output_cut = false;
  bool polled = false;
  /// How long seeded schedules held something back or kept a store from others, summed
  /// [warp instructions].
  std::uint64_t delayed = 0;
  static constexpr std::uint64_t kMostDelayed = 2'000'000;
  Watch watch;
  std::vector<Tear> tears;  ///< in a seeded schedule: those under way
  std::unordered_map<const Inst*, TornBefore> torn;
  std::uint32_t never_looked_at = 0;  ///< tears that nobody saw, while others went on
  /// Blocks that began, and longer turns of warps in which they polled nothing.
  std::uint64_t worked = 0;
  Tracking tracking = Tracking::kOff;
  int granule_shift = 2;  ///< of kMarks and kStamps
  bool met = false;       ///< kMarks: two blocks touched the same, and one wrote
  GlobalOrder order;      ///< of kStamps
  /// Uses of uninitialised global memory: a race between blocks explains them better.
  std::vector<Held> held;
  bool raced = false;                   ///< between blocks
  bool concurrent = false;              ///< other threads run blocks of the same launch
  Fellows* fellows = nullptr;           ///< then
  std::uint64_t told = 0, tell_at = 0;  ///< instructions that the fellows know of, and hear of next
};

}  // namespace hone::emulator
