// Occupancy, and the time of one launch from what a run counted. Every resource gets the cycles it
// would need alone; they are blended so that two close ones cost more than either. Where a factor
// is not in the profile, it was measured on an H200 (the README says how well all this does).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluator/device/emulator/emulator.h"

namespace hone::emulator {

Occupancy occupancy(const Profile& p, int threads_per_block, int registers,
                    std::int64_t shared_bytes) {
  Occupancy o;
  if (threads_per_block <= 0 || threads_per_block > p.max_threads_per_block) return o;
  const int warps = (threads_per_block + 31) / 32;
  int blocks = std::min(p.max_blocks_per_sm, p.max_warps_per_sm / warps);
  if (registers > 0) {  // allocated per warp in units of 256
    const int per_warp = (registers * 32 + 255) / 256 * 256;
    // Each of the four schedulers owns a quarter of the registers.
    const int resident_warps = p.registers_per_sm / 4 / per_warp * 4;
    blocks = std::min(blocks, resident_warps / warps);
  }
  const std::int64_t shared = (shared_bytes + p.shared_reserved + 127) / 128 * 128;
  blocks = static_cast<int>(std::min<std::int64_t>(blocks, p.shared_per_sm / shared));
  o.blocks_per_sm = std::max(blocks, 0);
  o.fraction = static_cast<double>(o.blocks_per_sm * warps) / p.max_warps_per_sm;
  return o;
}

namespace {

double number(std::uint64_t v) { return static_cast<double>(v); }

/// Counts of the sample scaled to the busiest SM and to the whole grid.
struct Scale {
  double sm = 0;    // per SM: sample -> the SM with most blocks
  double grid = 0;  // sample -> whole grid
};

/// Cycles that the atomics on global memory keep the L2 busy. A slice takes about 1.2 cycles for a
/// sector, and one lane after another on one word; neighbouring lines share a slice, so a small
/// region keeps few of them busy.
double global_atomic_cycles(const Profile& p, const Counters& c, const Scale& s) {
  if (c.atomics_global == 0) return 0;
  constexpr double kSectorCycles = 1.2;
  const double lanes = 32;
  const double repeat = 1 / p.atomic_hot_ops_per_cycle;
  // A warp whose lanes all hit one word: integers are combined before they leave the SM.
  const double combined = s.grid * number(c.atomics_combined);
  const double lines = s.grid * number(c.atomic_lines) - combined;
  const double sectors = std::max(lines, s.grid * number(c.atomic_sectors) - combined);
  const double work = kSectorCycles * sectors + repeat * (s.grid * number(c.atomic_repeats)) +
                      combined * lanes / p.atomic_hot_int_ops_per_cycle;
  const double most = p.atomic_spread_ops_per_cycle * kSectorCycles;
  const double lines_hit = number(c.atomic_distinct_lines);
  const double slices = lines_hit <= 1 ? 1 : std::clamp(1 + 0.25 * lines_hit, 1.0, most);
  return work / slices;
}

/// Warps that go through one lock, or try one compare-and-swap until it succeeds, do so one after
/// another, and all who wait are in the way: measured with 2,048 and 4,096 of them.
double turn_cycles(const Profile& p, const Counters& c, const Scale& s, double most_waiting) {
  constexpr double kSwap = 1, kLock = 4.5;  // of each who waits, a turn [cycles]
  if (c.turns < 2) return 0;
  const double all = number(c.turns) * (c.turns_shared ? s.grid : 1);
  const double waiting =
      all <= most_waiting ? all / 2 : most_waiting * (1 - most_waiting / all / 2);
  if (2 * c.turns_released < c.turns) return all * std::max(kSwap * waiting, p.l2_latency);
  const double held = number(c.turns_held) / number(c.turns_released);
  return all * (held + std::max(kLock * waiting, p.l2_latency));
}

/// What local memory costs: spilled registers, and arrays that stayed in memory.
struct LocalMemory {
  double instructions = 0;  ///< beside those that PTX has
  double cycles = 0;        ///< of the L1, of all that was sampled
  double missed_lines = 0;  ///< to the L2 and back
  double latency = 0;       ///< of the loads [cycles], of all warps
};

constexpr double kFarther = 1.14;  // times as long where the next cache does not hold it either

/// Fetching an instruction of a warp that the nearest cache does not hold, of so many warps of an
/// SM [cycles]. Up to one a scheduler they wait together, more share what is fetched, until many
/// are not at the same place. Source: the micro-kernels code_few_*, code_four_warps_* and
/// loop_*_warps.
double fetch_cycles(double warps) {
  constexpr double kAlone = 5.3, kOf8 = 0.32, kOf16 = 0.45;
  if (warps <= 4) return kAlone / warps;
  if (warps <= 8) return std::lerp(kAlone / 4, kOf8, (warps - 4) / 4);
  return std::lerp(kOf8, kOf16, std::min(1.0, (warps - 8) / 8));
}

/// The frames of all resident threads share what shared memory leaves of the L1, with whatever else
/// is loaded: they begin to fall out when they take a quarter of it. Factors from spilling kernels
/// on an H200 (MODEL.md).
LocalMemory local_memory(const Profile& p, const Counters& c, double resident, double threads,
                         std::int64_t shared_bytes) {
  constexpr double kLineCycles = 2, kIndexedCycles = 1.7, kRoom = 0.25, kWriteBack = 2;
  constexpr double kSeenOfL1 = 1.0 / 3, kSeenOfL2 = 0.5;  // of a latency: the rest is hidden
  const double carved = static_cast<double>(shared_bytes + p.shared_reserved) * resident;
  const double l1 = std::max(4096.0, static_cast<double>(p.l1_bytes) -
                                         std::min(static_cast<double>(p.shared_per_sm), carved));
  const double frames = resident * threads * number(c.frame_bytes);
  const double miss = std::clamp(frames / l1 - kRoom, 0.0, 1.0);
  const double accesses = number(c.local_loads) + number(c.local_stores);
  const double loaded = number(c.local_load_lines), stored = number(c.local_store_lines);
  const double indexed = std::min(number(c.local_indexed_lines), loaded + stored);
  // For those that PTX has, the emulator's critical path has waited already.
  const double added = std::max(0.0, accesses - number(c.local_accesses));
  const double added_share = accesses > 0 ? added / accesses : 0;
  return {.instructions = added,
          .cycles = kLineCycles * (loaded + stored - indexed) + kIndexedCycles * indexed,
          .missed_lines = miss * (loaded + kWriteBack * stored),
          .latency = number(c.local_loads) *
                     (added_share * kSeenOfL1 * p.l1_latency + miss * kSeenOfL2 * p.l2_latency)};
}

ModelledTime time_of(const Profile& p, const Counters& c, const LaunchConfig& launch, int registers,
                     std::int64_t static_shared_bytes) {
  ModelledTime result;
  if (c.blocks == 0) {
    result.time_us = p.launch_us;
    result.bound = "launch";
    return result;
  }
  const int threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
  const std::int64_t shared_bytes = static_shared_bytes + launch.dynamic_shared_bytes;
  const Occupancy occ = occupancy(p, threads, registers, shared_bytes);
  const double resident = std::max(1, occ.blocks_per_sm);
  const double warps = (threads + 31) / 32;
  const double total = number(c.blocks_total);
  const double per_block = 1.0 / number(c.blocks);
  const double blocks_on_sm = std::ceil(total / p.sm_count);
  const Scale scale{per_block * blocks_on_sm, per_block * total};
  const double active_sms = std::min<double>(p.sm_count, total);
  const double lanes = 32;
  const auto sm = [&](double units, double per_cycle) { return units * scale.sm / per_cycle; };
  const LocalMemory local =
      local_memory(p, c, std::min(resident, blocks_on_sm), threads, shared_bytes);

  std::vector<ModelledTime::Term> terms;
  const auto add = [&](const char* name, double cycles) {
    if (cycles > 0) terms.push_back({name, cycles});
  };
  // Four schedulers issue one warp instruction a cycle each; few warps cannot fill them all.
  const double busy = std::min(4.0, std::max(1.0, std::min(resident, blocks_on_sm) * warps));
  add("issue", sm(number(c.issued) + local.instructions, busy));
  add("fp32", sm((number(c.pipe_fma) + number(c.pipe_imad)) * lanes, p.fp32_lanes));
  add("integer", sm(std::max(number(c.pipe_alu), number(c.pipe_imad)) * lanes, p.int_lanes));
  add("fp64", sm(number(c.pipe_fp64) * lanes, p.fp64_lanes));
  add("fp16", sm(number(c.fp16) * lanes, p.fp16_lanes));
  add("special functions", sm(number(c.pipe_xu) * lanes, p.sfu_lanes));
  add("tensor cores", sm(number(c.tensor_cycles), 1));
  add("shuffles", sm(number(c.shuffle) * lanes, p.shuffle_lanes));
  constexpr double kMatchCycles = 2;  // of each value
  add("match", sm(kMatchCycles * number(c.match_values), 1));
  add("fences", sm(number(c.fence_cycles), 1));

  // L1 and shared memory are one unit with one data path. A store costs a cycle for each sector and
  // one for each line; a load that misses, one for each line or 0.3 for each sector.
  const double miss_lines = number(c.l1_miss_lines) + local.missed_lines;
  const double miss_sectors = number(c.l1_miss_sectors) + 4 * local.missed_lines;
  const double load = std::max({number(c.l1_wavefronts), miss_lines, 0.3 * miss_sectors});
  const double store = number(c.global_store_sectors) + number(c.global_store_lines);
  const double shared = number(c.shared_wavefronts) + number(c.shared_atomic_cycles) * 1.0;
  const double l1 = load + store + local.cycles;
  const double conflicts = number(c.shared_wavefronts) - number(c.shared_loads + c.shared_stores);
  const char* name = l1 >= shared                ? local.cycles > 0.5 * l1 ? "local memory" : "L1"
                     : conflicts >= 0.5 * shared ? "shared-memory bank conflicts"
                     : number(c.shared_atomic_cycles) >= 0.5 * shared ? "shared-memory atomics"
                                                                      : "shared memory";
  add(name, sm(l1 + shared, 1));
  const std::size_t in_sm = terms.size();  // the terms so far

  // The L2 as a whole: sectors and, less so, lines; stores cost twice as much.
  const double per_sector = 32 / p.l2_total_bytes_per_cycle;
  const double l2 = 0.76 * miss_sectors + 0.97 * miss_lines +
                    1.95 * number(c.global_store_sectors) + 1.75 * number(c.global_store_lines);
  add("L2", scale.grid * l2 * per_sector);
  add("L2", sm(32 * miss_sectors, p.l2_bytes_per_cycle));  // the port of one SM

  const double reads = number(c.l1_miss_sectors);
  const double writes = number(c.global_store_sectors);
  const double written = reads + writes > 0 ? writes / (reads + writes) : 0;
  const double pure = written < 0.5 ? p.dram_read_bytes_per_s : p.dram_write_bytes_per_s;
  const double mix = 1 - std::fabs(1 - 2 * written);  // 1: as a copy
  const double dram = 32 * number(c.l2_miss_sectors);
  // Whoever measures has filled the L2 with lines that must be written before it takes others.
  constexpr double kDirty = 0.3;  // of the L2
  const double evicted = std::min(scale.grid * dram, kDirty * static_cast<double>(p.l2_bytes));
  const double dram_s =
      scale.grid * dram / (pure + mix * (p.dram_bytes_per_s - pure)) + evicted / p.dram_bytes_per_s;
  add("DRAM", dram_s * p.clock_hz);
  add("DRAM", sm(dram, p.sm_max_bytes_in_flight / p.dram_latency));

  add("atomics", global_atomic_cycles(p, c, scale));
  constexpr double kPrint = 3600;  // a warp's call; they go one after another
  add("printf", kPrint * scale.grid * number(c.prints));
  // A line is in one slice of the L2.
  constexpr double kSliceCycles = 1.2;
  add("one L2 slice", kSliceCycles * number(c.hot_sectors) * (c.hot_shared != 0 ? scale.grid : 1));
  constexpr double kRemoteBytes = 10.8;  // a cycle, of one SM
  add("shared memory of other SMs", sm(number(c.remote_bytes), kRemoteBytes));
  constexpr double kUniformCycles = 8.5;
  add("constants", sm(number(c.constant_cycles) + kUniformCycles * number(c.uniform_constants), 1));
  const double together = std::max(1.0, std::min(resident, blocks_on_sm) * warps);
  const double fetched = fetch_cycles(together);
  add("code", sm(fetched * number(c.code_far) + kFarther * fetched * number(c.code_farther), 1));
  add("one word", turn_cycles(p, c, scale, resident * active_sms * warps));
  add("block launch",
      std::max(total / p.block_launch_per_cycle, total * warps / p.warp_launch_per_cycle));

  // Blocks one after another in the places of an SM, each as long as its longest warp.
  const double rounds = total / (std::max(active_sms, 1.0) * resident);
  const double waves = rounds <= 4 ? std::ceil(rounds) : rounds + 0.5;
  // By the machine code, where it is known: what the emulator took for the path through the block,
  // from barrier to barrier along the warps that came last, at the machine code's pace.
  const double given = number(c.given_path_sum);
  const double uneven =
      (number(c.critical_path_sum) - given) * warps / std::max(1.0, number(c.warp_path_sum));
  const double machine = number(c.machine_path_sum) / warps;
  const double by_code = machine > 0 ? machine * std::max(1.0, uneven) + given : 0;
  const double longest =
      ((by_code > 0 ? by_code : number(c.critical_path_sum)) + local.latency / warps) * per_block;
  const double longest_of_all = number(c.critical_path_cycles) * longest /
                                std::max(1.0, number(c.critical_path_sum) * per_block);
  const double alone = std::max(waves * longest, longest_of_all) + waves * p.block_overhead_cycles;
  if (number(c.waited_cycles) > alone)
    add("blocks that wait", number(c.waited_cycles));
  else
    add("latency", alone);
  // One that has more to do than the others is on one SM.
  add("one block", number(c.most_of_a_block) * number(c.issued) /
                       std::max(1.0, number(c.warp_instructions)) / std::min(4.0, warps));

  const auto blend = [&](std::size_t from, std::size_t to, double power) {
    double sum = 0;
    for (std::size_t k = from; k < to; ++k) sum += std::pow(terms[k].cycles, power);
    return std::pow(sum, 1 / power);
  };
  // The units of an SM work beside each other, and beside the issue of their instructions.
  constexpr double kInSm = 4, kPower = 3;
  const double cycles = std::pow(std::pow(blend(0, in_sm, kInSm), kPower) +
                                     std::pow(blend(in_sm, terms.size(), kPower), kPower),
                                 1 / kPower);
  const double busy_us = cycles / p.clock_hz * 1e6;
  result.time_us = p.launch_us + busy_us;
  std::ranges::sort(terms, [](const auto& a, const auto& b) { return a.cycles > b.cycles; });
  const double whole = result.time_us * 1e-6 * p.clock_hz;
  for (auto& t : terms) t.share = t.cycles / whole;
  result.terms = std::move(terms);
  if (busy_us < p.launch_us) {
    result.bound = fmt::format("launch, {:.0f} %", 100 * p.launch_us / result.time_us);
  } else {
    result.bound =
        fmt::format("{}, {:.0f} %", result.terms.front().name, 100 * result.terms.front().share);
  }
  return result;
}

}  // namespace

double following_us(const Profile& p, const ModelledTime& time) {
  constexpr double kCold =
      1.1;  // beside an empty one: its code and constants, its last stores [us]
  return time.time_us - p.launch_us + std::min(p.launch_us, p.launch_gap_us + kCold);
}

ModelledTime model(const Profile& p, const Counters& c, const LaunchConfig& launch, int registers,
                   std::int64_t static_shared_bytes) {
  ModelledTime time = time_of(p, c, launch, registers, static_shared_bytes);
  if (c.spilled_in_loops == 0) return time;
  // Fewer registers let more blocks in. What the loops lack of them is no reason to be faster than
  // with them.
  constexpr int kMostRegisters = 255;
  Counters without = c;
  without.local_loads = without.local_stores = 0;
  without.local_load_lines = without.local_store_lines = without.frame_bytes = 0;
  const int needed =
      static_cast<int>(std::min<std::uint64_t>(kMostRegisters, registers + c.spilled_in_loops));
  ModelledTime roomy = time_of(p, without, launch, needed, static_shared_bytes);
  return roomy.time_us > time.time_us ? roomy : time;
}

}  // namespace hone::emulator
