// The emulated GPU: runs PTX on the CPU, 32 lanes at once, checks every access, counts what a time
// model needs. Knows nothing of tasks, processes or CUDA libraries. One Module may be run from
// several threads at once; a Memory belongs to one run at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"
#include "candidates/tensor_map.h"
#include "candidates/verdict.h"

namespace hone::emulator {

/// One kernel parameter as PTX declares it.
struct Parameter {
  enum class Kind {
    kInteger,
    kFloat,
    kBits
  };  ///< .u32/.s32/.u64/.b64…, .f32/.f64, .b8[n]/.b16 blobs
  Kind kind = Kind::kInteger;
  int offset = 0;        // in the parameter block [B]
  int bytes = 0;         // [B]
  bool pointer = false;  ///< carries .ptr
};

struct Kernel {
  std::string name;  ///< lowered
  std::vector<Parameter> parameters;
  int parameter_bytes = 0;                        // [B]
  int static_shared_bytes = 0;                    // [B]
  int max_threads = 0;                            ///< .maxntid product, 0 when none
  std::array<std::uint32_t, 3> cluster{0, 0, 0};  ///< .reqnctapercluster, 0 when none
};

/// The 128 bytes to pass as a kernel's __grid_constant__ CUtensorMap, or to put in global memory,
/// 64-byte aligned. They mean something to the emulator only. kInvalidInput: what the driver would
/// refuse.
[[nodiscard]] Result<std::array<std::uint8_t, 128>> encode_tiled_tensor_map(
    const TensorMapSpec& spec);

/// Pre-decoded PTX.
class Module {
 public:
  /// kInvalidInput: not PTX. An instruction that is not covered is no error here: running a kernel
  /// that reaches it ends as Verdict::kUnsupported naming it.
  [[nodiscard]] static Result<std::shared_ptr<const Module>> parse(std::string_view ptx);
  virtual ~Module() = default;
  [[nodiscard]] virtual const std::vector<Kernel>& kernels() const = 0;
  [[nodiscard]] const Kernel* find(std::string_view lowered_name) const;
};

/// PTX lines of a loop: of its first instruction and of the branch back.
struct LineRange {
  std::uint32_t first = 0, last = 0;
};
/// The loops of a kernel that have no loop, barrier or branch inside: a compiler may unroll them.
[[nodiscard]] std::vector<LineRange> inner_loops(const Module& module, std::string_view kernel);

/// Can a branch, a guarded access or an address of the kernel depend on what it loads from global
/// memory? Read off its code, and never false where it does.
[[nodiscard]] bool follows_data(const Module& module, std::string_view kernel);

/// Does what it loads from global memory, at addresses that follow from the thread's place and
/// other such loads, decide whether or how long a loop of the kernel runs? See sim/data_kinds.h.
[[nodiscard]] bool decides_by_data(const Module& module, std::string_view kernel);

/// Does any function of it access memory with more than plain loads and stores (volatile, relaxed,
/// an atomic)? No race is seen between such accesses: only another order shows what they lose.
[[nodiscard]] bool has_ordered_accesses(const Module& module);

/// Has it such stores of more than eight bytes, of which others may see a part? Of two values of
/// RunOptions::schedule_seed that follow each other, one stores the first words first and the other
/// the last; see sim/tears.cpp.
[[nodiscard]] bool has_stores_seen_in_parts(const Module& module);

/// Bytes [begin, end) of an allocation.
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

/// Global memory: exact allocations, pages materialised on first touch.
class Memory {
 public:
  /// Writes the first contents of bytes [offset, offset + size) of the allocation. Called for
  /// several pages at once where RunOptions::threads is more than 1.
  using PageSource = std::function<void(std::uint64_t offset, std::uint8_t* out, std::size_t size)>;

  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Allocations follow from an address on that `seed` chooses, such as a GPU has. Before the
  /// first.
  void begin_anywhere(std::uint64_t seed);
  /// Chooses the operands for which approximate functions are off by an ulp, and the bits of cache
  /// policies; 0: none, and those of a GPU.
  void round_by(std::uint64_t seed);
  /// Address of a new allocation of exactly `bytes` (256-byte aligned, unmapped gaps around it).
  /// `initialised`: false for outputs and scratch: reading a byte nobody wrote is then reported
  /// when it matters (address, branch, store). `name` appears in reports.
  [[nodiscard]] std::uint64_t allocate(std::string name, std::uint64_t bytes, bool initialised,
                                       PageSource source);
  /// Copies out / in; false when out of bounds.
  [[nodiscard]] bool read(std::uint64_t address, void* out, std::uint64_t bytes) const;
  [[nodiscard]] bool write(std::uint64_t address, const void* data, std::uint64_t bytes);
  /// Was every byte of the range written by a kernel (or initialised)? First hole, or -1.
  [[nodiscard]] std::int64_t first_unwritten(std::uint64_t address, std::uint64_t bytes) const;
  /// Distinct bytes, in whole sectors of 32, that the last counted run touched of an allocation.
  [[nodiscard]] std::uint64_t touched_bytes(std::uint64_t address) const;
  /// Those bytes, in rising order, whole sectors.
  [[nodiscard]] std::vector<ByteRange> touched_ranges(std::uint64_t address) const;
  /// Bytes that kernels wrote to an allocation that did not begin initialised, in rising order.
  [[nodiscard]] std::vector<ByteRange> written_ranges(std::uint64_t address) const;
  /// How many those are.
  [[nodiscard]] std::uint64_t written_bytes(std::uint64_t address) const;
  /// Of touched_bytes(), when half of that run's blocks had run; 0 where it had only one.
  [[nodiscard]] std::uint64_t touched_bytes_at_half(std::uint64_t address) const;
  /// Did a kernel write into this allocation?
  [[nodiscard]] bool was_written(std::uint64_t address) const;
  /// Did an atomic or a reduction change this allocation?
  [[nodiscard]] bool was_added_to(std::uint64_t address) const;
  /// `__device__` variables that the last counted run touched, by address, and whether any run has
  /// written them.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, bool>> touched_variables() const;
  /// Did a kernel write a `__device__` variable?
  [[nodiscard]] bool variables_were_written() const;
  /// What `__device__` variables hold, as far as anybody looked at them, for comparison.
  [[nodiscard]] std::vector<std::uint8_t> variables() const;
  /// The same as words of four bytes; the last of a page may be cut off.
  [[nodiscard]] std::vector<std::uint32_t> variable_words() const;
  /// Adds `times` of each of as many numbers to them.
  void add_to_variables(std::span<const std::uint32_t> numbers, std::uint32_t times);
  /// Variables of modules that are not yet placed here begin as `from` has them now.
  void inherit_variables(const Memory& from);
  /// Pages beyond so many bytes of host memory: std::bad_alloc, from whoever touches one.
  void limit(std::uint64_t most_bytes);
  /// Host memory that the pages made so far take [B].
  [[nodiscard]] std::uint64_t live_bytes() const;
  /// Did the last counted run touch a `__device__` variable that begins as zero and that no kernel
  /// has written? Somebody was to write it.
  [[nodiscard]] bool touched_empty_variable() const;
  /// The next counted run is of a launch that follows those before: what they touched may still be
  /// in the L2 of `l2_bytes`.
  void next_launch(std::int64_t l2_bytes);
  /// The allocation as if nothing had happened to it, with other first contents.
  void renew(std::uint64_t address, PageSource source);

  struct Impl;
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// What a run counted; sums over the blocks that ran. "Sectors" are 32 B, "wavefronts" are cycles a
/// shared-memory or L1 access occupies its port.
struct Counters {
  std::uint64_t blocks = 0;        ///< run
  std::uint64_t blocks_total = 0;  ///< in the grid
  std::uint64_t warps = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;  ///< active lanes summed: divergence = thread / (32 warp)
  // warp-instructions by class
  std::uint64_t fp32 = 0, fp64 = 0, fp16 = 0, integer = 0, sfu = 0, conversion = 0, control = 0,
                shuffle = 0, barrier = 0, other = 0;
  std::uint64_t global_loads = 0, global_stores = 0, shared_loads = 0, shared_stores = 0,
                local_accesses = 0, atomics_global = 0, atomics_shared = 0, constant_loads = 0;
  std::uint64_t global_load_sectors = 0, global_store_sectors = 0;
  std::uint64_t l1_wavefronts = 0;      ///< global loads, tag and bank limited
  std::uint64_t shared_wavefronts = 0;  ///< >= shared accesses; the excess is bank conflicts
  std::uint64_t l1_miss_sectors = 0;    ///< to L2, from a per-SM cache model over the blocks run
  std::uint64_t l1_miss_lines = 0;      ///< distinct lines of a load with a missing sector
  std::uint64_t l2_miss_sectors = 0;    ///< to DRAM, estimated
  std::uint64_t atomic_serialised = 0;  ///< same-address lanes beyond the first
  std::uint64_t divergent_branches = 0;
  std::uint64_t critical_path_cycles = 0;  ///< longest warp: dependent-issue latency estimate
  std::uint64_t critical_path_sum = 0;     ///< the longest warp of each block, summed
  std::uint64_t given_path_sum = 0;        ///< of it: waits of which the machine code tells nothing
  std::uint64_t warp_path_sum = 0;     ///< of every warp, without what it waited for others, or so
  std::uint64_t machine_path_sum = 0;  ///< of every warp, by its machine code; 0: not known
  /// Until the last block ends, where blocks wait for one another, over the whole grid; 0: none
  /// does.
  std::uint64_t waited_cycles = 0;
  std::uint64_t most_of_a_block = 0;  ///< warp instructions of the block with most
  std::uint64_t longest_block = 0;    ///< the number of the first such block
  // How unlike each other blocks are, where one host thread ran them: of runs of neighbours that
  // ended one after the other the means of their warp instructions, and how far each is from the
  // middle of the two beside it, doubled, squared and summed. Of blocks that predicates tell apart
  // by their place, each kind for itself.
  std::uint64_t runs = 0, run_bends = 0, run_bends_squared = 0;
  /// The same as if all blocks were of one kind, where the kinds have too few runs.
  std::uint64_t mixed_runs = 0, mixed_bends = 0, mixed_bends_squared = 0;
  /// By how much the mean block of the sample differs from that of the grid, as its kinds have
  /// other shares [warp instructions].
  std::uint64_t unlike_grid = 0;
  // Machine instructions (warps), estimated: all, and by pipe.
  std::uint64_t issued = 0, pipe_alu = 0, pipe_fma = 0, pipe_imad = 0, pipe_xu = 0, pipe_fp64 = 0;
  std::uint64_t global_load_lines = 0,
                global_store_lines = 0;  ///< distinct 128 B lines a warp asks
  std::uint64_t atomic_lines = 0;        ///< the same of atomics on global memory
  std::uint64_t atomic_sectors = 0;      ///< and sectors
  std::uint64_t atomic_repeats = 0;      ///< global: lanes beyond the first on one word, per line
                                         ///< the worst word
  std::uint64_t atomics_combined = 0;    ///< global integer ones of a whole warp on one word
  std::uint64_t atomic_distinct_lines = 0;  ///< over all that ran
  std::uint64_t shared_atomic_cycles = 0;   ///< lanes of the fullest bank, summed
  std::uint64_t bulk_reductions = 0;        ///< done to global memory, by lanes
  // Local memory: as PTX has it, until whoever has the machine code says what became of it. A line
  // is a word of every lane of a warp: 128 B.
  std::uint64_t local_loads = 0, local_stores = 0;            ///< warp-instructions
  std::uint64_t local_load_lines = 0, local_store_lines = 0;  ///< distinct ones of an instruction
  std::uint64_t frame_bytes = 0;  ///< of a thread's local memory; 0: not known, or none [B]
  std::uint64_t constant_cycles =
      0;  ///< of loads of constant memory, beyond one that all lanes share
  // Compare-and-swaps with result on the word of global memory that has most of them.
  std::uint64_t turns = 0;  ///< lanes
  std::uint64_t turns_released =
      0;                           ///< of them: the warp then wrote the word, as who leaves a lock
  std::uint64_t turns_held = 0;    ///< until then, summed [cycles]
  std::uint64_t turns_shared = 0;  ///< 1: of several blocks, or only one ran
  std::uint64_t hot_sectors = 0;   ///< stored to the line that most stores went to
  std::uint64_t hot_shared = 0;    ///< 1: by most blocks
  std::uint64_t remote_bytes = 0;  ///< of shared memory, from or to other blocks of the cluster
  std::uint64_t prints = 0;        ///< calls of printf, by warps
  std::uint64_t fence_cycles = 0;  ///< that fences keep their SM busy
  std::uint64_t match_values = 0;  ///< different values that match.sync compared
  // By the machine code, warp-instructions: loads of a constant at a uniform register's address; in
  // loops, or kernels, whose code exceeds the instruction caches; see sass::MachineCounts.
  std::uint64_t uniform_constants = 0, code_far = 0, code_farther = 0;
  std::uint64_t local_indexed_lines = 0;  ///< of the lines of local memory: where lanes are apart
  std::uint64_t spilled_in_loops = 0;     ///< words of the frame that loops come to, of a thread
  std::uint64_t flops = 0;                ///< lanes x (2 for FMA), tensor cores' included
  std::uint64_t tensor = 0;               ///< warp-instructions of the tensor cores
  std::uint64_t tensor_flops = 0;
  std::uint64_t tensor_cycles = 0;  ///< their SM's tensor pipes are busy: FMAs / Profile's rate
};

struct Profile;

/// The rule that a finding breaks.
enum class FindingKind {
  kOutOfBounds,
  kMisaligned,
  kRace,
  kUninitialised,
  kBarrier,        ///< divergent, missing or malformed
  kWarpMask,       ///< a warp-wide instruction and the lanes its mask names
  kTrap,           ///< trap, or a call to nowhere
  kAssert,         ///< assert() in the kernel
  kStackOverflow,  ///< of calls
  kAsync,          ///< an asynchronous copy used before its wait, or left behind
  kMBarrier,       ///< an mbarrier misused
  kDeadlock,       ///< a wait that nobody can end
  kTimeout,
  kUnsupported,
  kOther,
};
inline constexpr FindingKind kAllFindingKinds[] = {
    FindingKind::kOutOfBounds,   FindingKind::kMisaligned,  FindingKind::kRace,
    FindingKind::kUninitialised, FindingKind::kBarrier,     FindingKind::kWarpMask,
    FindingKind::kTrap,          FindingKind::kAssert,      FindingKind::kStackOverflow,
    FindingKind::kAsync,         FindingKind::kMBarrier,    FindingKind::kDeadlock,
    FindingKind::kTimeout,       FindingKind::kUnsupported, FindingKind::kOther};
[[nodiscard]] std::string_view to_string(FindingKind kind);  ///< "out_of_bounds", ...
[[nodiscard]] std::optional<FindingKind> parse_finding_kind(std::string_view text);

/// A place in the program. `file` is as the compiler was told; lines are 0 when unknown.
struct CodePlace {
  std::uint32_t ptx_line = 0;
  std::string instruction;      ///< of that PTX line
  std::string file;             ///< the user's
  std::uint32_t line = 0;       ///< of it, innermost
  std::uint32_t call_line = 0;  ///< of it: where the function with `line` was inlined
  std::string inner_file;       ///< a header's place that was inlined at `line`
  std::uint32_t inner_line = 0;
};

/// One thing that a checker found.
struct Finding {
  FindingKind kind = FindingKind::kOther;
  Verdict verdict = Verdict::kFault;
  std::string what;  ///< "out-of-bounds write of 4 B at C+4096 (buffer of 4096 B)"
  std::string kernel;
  CodePlace place;
  bool has_thread = true;
  std::array<std::uint32_t, 3> block{}, thread{};
  std::string address;      ///< "shared tile+12"; empty when none
  std::string other;        ///< the other side of a race, where a value comes from, ...
  CodePlace other_place;    ///< likewise, as far as known
  std::uint64_t count = 1;  ///< how often at this instruction, when all are looked for
};

/// What became of a kernel's branches in its machine code, by PTX line.
struct BranchHints {
  /// Of the branch back of one of inner_loops(): how often the loop is unrolled. Without: four
  /// times.
  std::map<std::uint32_t, int> unrolled;
  /// Branches forward that are branches there, too; others became predicates of what they skip.
  std::set<std::uint32_t> kept;
};

struct RunOptions {
  bool check_initialised = true;
  bool check_races = true;
  bool counters = true;
  std::uint64_t max_warp_instructions = 2'000'000'000;  ///< beyond: Verdict::kTimeout
  std::int64_t sample_blocks = 0;  ///< 0: all; else that many, spread over the grid
  /// Chooses them, one run of neighbours in each equal part of the grid. 0: evenly spaced.
  std::uint64_t sample_seed = 0;
  /// What a warp adds to a counter, the blocks that the sample leaves out add as well: a block that
  /// takes work from a queue takes its share, a list gets its length, and a barrier of the grid is
  /// met. Blocks with such counters take turns. Ends a sample that waits for others.
  bool share_counters = false;
  /// A block that runs beside the sample, alone, as rare blocks do; -1: none.
  std::int64_t also = -1;
  /// What blocks may take together that run beside the sample because their data decide that they
  /// do other work (decides_by_data) [warp instructions]; 0: none does. Needs `counters`.
  std::uint64_t by_data = 0;
  bool restore_counters = false;  ///< then: they end as they began, for another sample
  /// A volatile or acquiring load sees what was there at its own time, so that who waits for
  /// another block is late (Counters::waited_cycles). Needs `counters`.
  bool waits_in_time = false;
  /// Blocks to run instead, rising; the clusters that hold them run whole. A block's number counts
  /// x fastest; where the launch has clusters, those are counted so, and then the blocks in each.
  const std::vector<std::uint64_t>* blocks = nullptr;
  int threads = 1;                     ///< host threads at most; results do not depend on it
  std::uint64_t threads_after = 4096;  ///< warp instructions, before a second one is worth starting
  /// 0: grid order, warps in turn. Others permute the order of blocks and warps and how long each
  /// runs before the next; the same seed gives the same run everywhere.
  std::uint64_t schedule_seed = 0;
  /// Beyond 1 the run goes on after a finding where it can (the lane's access is left out), and
  /// collects up to so many, one an instruction and kind.
  int max_findings = 1;
  const std::atomic<bool>* cancel = nullptr;
  bool count_lines = false;               ///< fills RunReport::line_counts
  const BranchHints* branches = nullptr;  ///< what ptxas made of them; null: nobody knows
  const Profile* profile = nullptr;       ///< cache sizes, latencies and limits; null: sm_90
  int registers = 32;                     ///< of the kernel: how many blocks share an SM's cache
};

struct LaunchConfig {
  std::string kernel;  ///< lowered name
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{1, 1, 1};  ///< blocks; divides the grid
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::uint8_t> parameters;  ///< the parameter block, packed as Kernel says
};

/// Keeps the block with most warp instructions of two.
inline void keep_longest(Counters& into, std::uint64_t instructions, std::uint64_t block) {
  const bool longer =
      instructions > into.most_of_a_block ||
      (instructions == into.most_of_a_block && instructions > 0 && block < into.longest_block);
  if (!longer) return;
  into.most_of_a_block = instructions;
  into.longest_block = block;
}

/// Of the blocks that the kernel treats apart by their place in the grid alone, one of each kind,
/// at most eight of those of which there are fewest; see sim/block_kinds.h.
[[nodiscard]] std::vector<std::uint64_t> rare_blocks(const Module& module,
                                                     const LaunchConfig& launch);

struct RunReport {
  Verdict verdict = Verdict::kOk;
  std::string detail;  ///< "out-of-bounds write of 4 B at C+4096 (buffer of 4096 B), line 12, block
                       ///< (0,1,0), thread (3,0,0)"
  Counters counters;
  std::string output;       ///< of the kernel's printf, in the order of execution
  bool output_cut = false;  ///< there was more than 1 MB of it
  int threads = 1;          ///< host threads that ran the blocks
  bool polled = false;      ///< a warp looked at one word again and again
  bool outlasted = false;   ///< kTimeout: a block that data set apart takes more than may be
  /// With RunOptions::share_counters: the words that were counted with, by rising address.
  std::vector<std::uint64_t> counted;
  std::vector<Finding> findings;  ///< the first is what `verdict` and `detail` say
  /// Warps that issued the instruction on a PTX line, by line; of several on one line the most.
  /// -1: the line has none.
  std::vector<std::int64_t> line_counts;
  /// By PTX line: of its loads and atomics, how long one took on average [cycles]; 0: has none.
  std::vector<float> line_latencies;
  /// By PTX line: 1 where the instruction has a subroutine for rare operands (a division, a root).
  /// The counters have an estimate of it.
  std::vector<std::uint8_t> line_branches;
  /// That estimate: the sums over those lines, of `issued` and the pipes.
  Counters estimated;
};

/// One line: what, line, block, thread, kernel; as in RunReport::detail.
[[nodiscard]] std::string text_of(const Finding& finding);

/// Runs one launch to its end. Static limits (threads, shared memory) are kLaunchError.
[[nodiscard]] RunReport run(const Module& module, const LaunchConfig& launch, Memory& memory,
                            const RunOptions& options);

/// An architecture's numbers for the model; profile_file.h reads them
/// from profiles/*.json, with each number's source. "Per cycle" is
/// a cycle of the SM clock; "lanes" are lane operations of one SM, "whole GPU" where it says so.
struct Profile {
  std::string arch;  ///< "sm_90"
  std::string name;  ///< "H200"
  int sm_count = 0;
  double clock_hz = 0;  // under load
  int max_warps_per_sm = 64, max_blocks_per_sm = 32, max_threads_per_block = 1024;
  int registers_per_sm = 65536;
  std::int64_t shared_per_sm = 0, shared_per_block = 0, shared_reserved = 1024;  // [B]
  std::int64_t l1_bytes = 0, l2_bytes = 0, memory_bytes = 0;                     // [B]

  // Throughput of one SM [lanes/cycle]
  double fp32_lanes = 128, fp64_lanes = 64, fp16_lanes = 256, int_lanes = 64, sfu_lanes = 16,
         shuffle_lanes = 32, conversion_lanes = 16;  // an x2 instruction's lane is one;
                                                     // int: of each of two pipes
  // Tensor cores through mma.sync m16n8k*, dense [FMA/cycle], and through wgmma (0: has none).
  double tensor_f16_fma = 1024, tensor_bf16_fma = 1024, tensor_tf32_fma = 512, tensor_s8_fma = 2048;
  double wgmma_f16_fma = 0, wgmma_tf32_fma = 0, wgmma_s8_fma = 0;

  // Until a dependent instruction may issue [cycles]
  double fp32_latency = 4, fp64_latency = 8, fp16_latency = 5, int_latency = 4, sfu_latency = 20,
         shuffle_latency = 23, conversion_latency = 10, tensor_latency = 33;
  double barrier_cycles = 20;  // __syncthreads of 256 threads that arrive together
  double l1_latency = 0, shared_latency = 0, l2_latency = 0, dram_latency = 0;  // [cycles]

  double l1_bytes_per_cycle = 0, l2_bytes_per_cycle = 0;  // of one SM alone
  double shared_bytes_per_cycle = 128;                    // of one SM, no conflicts
  double shared_conflict_cycles = 1;                      // each further wavefront of one access
  double l2_total_bytes_per_cycle = 0;                    // whole GPU
  double dram_bytes_per_s = 0;                            // achieved, copy: read + written
  double dram_read_bytes_per_s = 0, dram_write_bytes_per_s = 0;
  double dram_saturating_sms = 0;     // SMs that together reach 95 % of the DRAM read limit
  double sm_max_bytes_in_flight = 0;  // loads outstanding in one SM: its bandwidth x latency [B]

  double launch_us = 0;                // events around one empty kernel
  double launch_gap_us = 1.2;          // each further launch in the same stream
  double block_launch_per_cycle = 1;   // whole GPU, small blocks
  double warp_launch_per_cycle = 64;   // whole GPU, large blocks
  double block_overhead_cycles = 700;  // start and drain of a block

  // Atomics on global memory, without result [lanes/cycle, whole GPU]
  double atomic_same_address_per_s = 0;
  double atomic_hot_ops_per_cycle = 1;      // float, one address
  double atomic_hot_int_ops_per_cycle = 1;  // int, one address: a warp may combine first
  double atomic_sector_ops_per_cycle = 32;  // a warp's lanes on 32 words of one shared 1 KiB
  double atomic_spread_ops_per_cycle = 64;  // random words that fit the L2
  double shared_atomic_ops_per_cycle = 16;  // int, no conflicts [lanes/cycle of one SM]
  double shared_atomic_same_address_int_cycles = 2;     // per lane of a warp on one address
  double shared_atomic_same_address_float_cycles = 20;  // likewise
};
/// "sm_90" (or "sm_90a"), "sm_90/H100"; null: unknown.
[[nodiscard]] const Profile* find_profile(std::string_view name);
[[nodiscard]] std::vector<std::string> profile_archs();
/// "sm_90", "sm_90/H100", …: each architecture's default by the architecture alone.
[[nodiscard]] std::vector<std::string> profile_names();

/// Resident blocks per SM and the resulting occupancy (0..1).
struct Occupancy {
  int blocks_per_sm = 0;
  double fraction = 0;
};
[[nodiscard]] Occupancy occupancy(const Profile& profile, int threads_per_block, int registers,
                                  std::int64_t shared_bytes);

/// Modelled time of one launch.
struct ModelledTime {
  /// One resource: how long it is busy, alone and in the worst SM.
  struct Term {
    std::string name;  ///< "DRAM", "shared-memory bank conflicts", "latency", ...
    double cycles = 0;
    double share = 0;  ///< of the modelled time
  };
  double time_us = 0;
  std::string bound;        ///< what bounds it and how far: "shared-memory bank conflicts, 61 %"
  std::vector<Term> terms;  ///< longest first; they overlap
};
/// That of a launch that follows another in its stream: the GPU is not idle before it [us].
[[nodiscard]] double following_us(const Profile& profile, const ModelledTime& time);
[[nodiscard]] ModelledTime model(const Profile& profile, const Counters& counters,
                                 const LaunchConfig& launch, int registers,
                                 std::int64_t static_shared_bytes);

}  // namespace hone::emulator
