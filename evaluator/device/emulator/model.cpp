// Occupancy, and the time of one launch from what a run counted: the busiest of several resources,
// each as if it were alone, blended so that two close ones cost more than either.
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

ModelledTime model(const Profile& p, const Counters& c, const LaunchConfig& launch, int registers,
                   std::int64_t static_shared_bytes) {
  ModelledTime result;
  if (c.blocks == 0) {
    result.time_us = p.launch_us;
    result.bound = "launch";
    return result;
  }
  const int threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
  const Occupancy occ =
      occupancy(p, threads, registers, static_shared_bytes + launch.dynamic_shared_bytes);
  const double resident = std::max(1, occ.blocks_per_sm);
  const auto total = static_cast<double>(c.blocks_total);
  const double per_block = 1.0 / static_cast<double>(c.blocks);
  const double scale = total * per_block;  // sampled -> whole grid
  // The busiest SM: whole blocks.
  const double blocks_on_sm = std::ceil(total / p.sm_count);
  const auto sm_cycles = [&](double units, double per_cycle) {
    return units * per_block * blocks_on_sm / per_cycle;
  };
  const auto u = [](std::uint64_t v) { return static_cast<double>(v); };
  const double lanes = 32;

  struct Term {
    const char* name;
    double cycles;
  };
  // Four schedulers issue one warp instruction a cycle each; few warps cannot fill them all.
  const double warps = (threads + 31) / 32;
  const double busy = std::min(4.0, std::max(1.0, std::min(resident, blocks_on_sm) * warps));
  std::vector<Term> terms = {
      {"issue", sm_cycles(u(c.warp_instructions), busy)},
      {"fp32", sm_cycles(u(c.fp32) * lanes, p.fp32_lanes)},
      {"fp64", sm_cycles(u(c.fp64) * lanes, p.fp64_lanes)},
      {"fp16", sm_cycles(u(c.fp16) * lanes, p.fp16_lanes)},
      {"int", sm_cycles(u(c.integer) * lanes, p.int_lanes)},
      {"sfu", sm_cycles(u(c.sfu) * lanes, p.sfu_lanes)},
      {"conversion", sm_cycles(u(c.conversion) * lanes, p.conversion_lanes)},
      {"shuffle", sm_cycles(u(c.shuffle) * lanes, p.shuffle_lanes)},
      {"tensor", sm_cycles(u(c.tensor_cycles), 1)},
  };
  // L1 and shared memory are one unit with one data path.
  const double l1 = sm_cycles(u(c.l1_wavefronts + c.local_accesses), p.l1_bytes_per_cycle / 128);
  const double shared = sm_cycles(u(c.shared_wavefronts), 1);
  terms.push_back({l1 >= shared ? "l1" : "shared", l1 + shared});
  const double l2_bytes =
      32 * scale * u(c.l1_miss_sectors + c.global_store_sectors + c.atomics_global);
  // Few blocks use few SMs, and each SM has its own port to L2.
  const double active_sms = std::min<double>(p.sm_count, total);
  terms.push_back({"l2", l2_bytes / (p.l2_bytes_per_cycle * active_sms)});
  // DRAM needs about a third of the SMs' ports to be saturated.
  const double dram_share = std::min(1.0, active_sms / (0.35 * p.sm_count));
  terms.push_back(
      {"dram", 32 * scale * u(c.l2_miss_sectors) / (p.dram_bytes_per_s * dram_share) * p.clock_hz});
  // Same-address atomics queue at one L2 slice; others spread over the slices, about 64 a cycle.
  const double same = scale * u(c.atomic_serialised);
  const double spread = std::max(0.0, scale * u(c.atomics_global) * lanes - same);
  terms.push_back(
      {"atomics",
       (c.atomics_global ? same / p.atomic_same_address_per_s * p.clock_hz : 0) + spread / 64});
  // Waves of resident blocks, each as long as its longest warp.
  const double waves = std::ceil(total / (p.sm_count * resident));
  terms.push_back({"latency", waves * u(c.critical_path_cycles)});

  double largest = 0;
  for (const Term& t : terms) {
    if (t.cycles > largest) {
      largest = t.cycles;
      result.bound = t.name;
    }
  }
  if (largest <= 0) {
    result.time_us = p.launch_us;
    result.bound = "launch";
    return result;
  }
  constexpr double kPower = 6;
  double sum = 0;
  for (const Term& t : terms) sum += std::pow(t.cycles / largest, kPower);
  const double cycles = largest * std::pow(sum, 1 / kPower);
  const double busy_us = cycles / p.clock_hz * 1e6;
  result.time_us = p.launch_us + busy_us;
  if (busy_us < p.launch_us) result.bound = "launch";
  return result;
}

}  // namespace hone::emulator
