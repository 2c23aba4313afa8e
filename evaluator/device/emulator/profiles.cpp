// Architecture numbers for the time model. Where a figure is not measured on the device itself, the
// comment names its source: [guide] CUDA C++ Programming Guide, tables "technical specifications"
// and "throughput of native arithmetic instructions"; [vendor] NVIDIA's data sheet or architecture
// white paper; [bench] published microbenchmarks, middle of their range; [est] our estimate.
#include "evaluator/device/emulator/emulator.h"

namespace hone::emulator {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;

std::vector<Profile> make_profiles() {
  std::vector<Profile> all;
  {
    Profile p;
    p.arch = "sm_80";
    p.name = "A100";
    p.sm_count = 108;                     // [vendor]
    p.clock_hz = 1.41e9;                  // [vendor] boost
    p.shared_per_sm = 164 * kKiB;         // [guide]
    p.shared_per_block = 163 * kKiB;      // [guide]
    p.l1_bytes = 192 * kKiB;              // [guide] unified with shared memory
    p.l2_bytes = 40 * kMiB;               // [vendor]
    p.memory_bytes = 80 * kGiB;           // [vendor]
    p.fp32_lanes = 64;                    // [guide]
    p.fp64_lanes = 32;                    // [guide]
    p.l1_latency = 33;                    // [bench]
    p.shared_latency = 23;                // [bench]
    p.l2_latency = 260;                   // [bench] near 206, far 400
    p.dram_latency = 470;                 // [bench] 290-550, plus far L2
    p.l1_bytes_per_cycle = 125;           // [bench]
    p.l2_bytes_per_cycle = 36;            // [bench]
    p.dram_bytes_per_s = 1.8e12;          // [bench] 1.74-1.89
    p.launch_us = 2.2;                    // [est]
    p.atomic_same_address_per_s = 1.4e9;  // [est] one a clock
    p.l2_total_bytes_per_cycle = 2600;    // [est]
    p.dram_read_bytes_per_s = 1.85e+12;   // [est]
    p.dram_write_bytes_per_s = 1.75e+12;  // [est]
    p.dram_saturating_sms = 55;           // [est]
    p.sm_max_bytes_in_flight = 40000;     // [est]
    p.atomic_spread_ops_per_cycle = 80;   // [est]
    p.fp64_latency = 8;                   // [bench]
    all.push_back(p);
  }
  {
    Profile p;
    p.arch = "sm_86";
    p.name = "RTX A6000";
    p.sm_count = 84;                      // [vendor]
    p.clock_hz = 1.80e9;                  // [vendor] boost
    p.max_warps_per_sm = 48;              // [guide]
    p.max_blocks_per_sm = 16;             // [guide]
    p.shared_per_sm = 100 * kKiB;         // [guide]
    p.shared_per_block = 99 * kKiB;       // [guide]
    p.l1_bytes = 128 * kKiB;              // [guide]
    p.l2_bytes = 6 * kMiB;                // [vendor]
    p.memory_bytes = 48 * kGiB;           // [vendor]
    p.fp32_lanes = 128;                   // [guide]
    p.fp64_lanes = 2;                     // [guide]
    p.l1_latency = 33;                    // [bench] as sm_80
    p.shared_latency = 23;                // [bench] as sm_80
    p.l2_latency = 250;                   // [est]
    p.dram_latency = 480;                 // [est]
    p.l1_bytes_per_cycle = 125;           // [bench] as sm_80
    p.l2_bytes_per_cycle = 32;            // [est]
    p.dram_bytes_per_s = 7.0e11;          // [vendor] 768 GB/s, 91 % achieved
    p.launch_us = 2.2;                    // [est]
    p.atomic_same_address_per_s = 1.8e9;  // [est]
    p.l2_total_bytes_per_cycle = 1500;    // [est]
    p.dram_read_bytes_per_s = 7.21e+11;   // [est]
    p.dram_write_bytes_per_s = 6.79e+11;  // [est]
    p.dram_saturating_sms = 30;           // [est]
    p.sm_max_bytes_in_flight = 40000;     // [est]
    p.atomic_spread_ops_per_cycle = 48;   // [est]
    p.fp64_latency = 40;                  // [bench]
    p.tensor_f16_fma = 512;               // [vendor]
    p.tensor_bf16_fma = 512;              // [vendor]
    p.tensor_tf32_fma = 256;              // [vendor]
    p.tensor_s8_fma = 1024;               // [vendor]
    all.push_back(p);
  }
  {
    Profile p;
    p.arch = "sm_89";
    p.name = "L40S";
    p.sm_count = 142;                     // [vendor]
    p.clock_hz = 2.52e9;                  // [vendor] boost
    p.max_warps_per_sm = 48;              // [guide]
    p.max_blocks_per_sm = 24;             // [guide]
    p.shared_per_sm = 100 * kKiB;         // [guide]
    p.shared_per_block = 99 * kKiB;       // [guide]
    p.l1_bytes = 128 * kKiB;              // [guide]
    p.l2_bytes = 96 * kMiB;               // [vendor]
    p.memory_bytes = 48 * kGiB;           // [vendor]
    p.fp32_lanes = 128;                   // [guide]
    p.fp64_lanes = 2;                     // [guide]
    p.l1_latency = 33;                    // [bench] as sm_80
    p.shared_latency = 23;                // [bench] as sm_80
    p.l2_latency = 270;                   // [est]
    p.dram_latency = 560;                 // [est]
    p.l1_bytes_per_cycle = 125;           // [bench] as sm_80
    p.l2_bytes_per_cycle = 32;            // [est]
    p.dram_bytes_per_s = 7.9e11;          // [vendor] 864 GB/s, 91 % achieved
    p.launch_us = 2.2;                    // [est]
    p.atomic_same_address_per_s = 2.4e9;  // [est]
    p.l2_total_bytes_per_cycle = 1800;    // [est]
    p.dram_read_bytes_per_s = 8.14e+11;   // [est]
    p.dram_write_bytes_per_s = 7.66e+11;  // [est]
    p.dram_saturating_sms = 30;           // [est]
    p.sm_max_bytes_in_flight = 40000;     // [est]
    p.atomic_spread_ops_per_cycle = 48;   // [est]
    p.fp64_latency = 40;                  // [bench]
    p.tensor_f16_fma = 512;               // [vendor]
    p.tensor_bf16_fma = 512;              // [vendor]
    p.tensor_tf32_fma = 256;              // [vendor]
    p.tensor_s8_fma = 1024;               // [vendor]
    all.push_back(p);
  }
  {
    Profile p;
    p.arch = "sm_90";
    p.name = "H200";
    p.sm_count = 132;                     // read from the device
    p.clock_hz = 1.98e9;                  // seen under load
    p.shared_per_sm = 228 * kKiB;         // [guide]
    p.shared_per_block = 227 * kKiB;      // read from the device
    p.l1_bytes = 256 * kKiB;              // [guide]
    p.l2_bytes = 60 * kMiB;               // read from the device
    p.memory_bytes = 141'000'000'000;     // [vendor]
    p.fp32_lanes = 128;                   // [guide]
    p.fp64_lanes = 64;                    // [guide]
    p.l1_latency = 36;                    // [bench] 32-40
    p.shared_latency = 29;                // [bench]
    p.l2_latency = 300;                   // [bench] near 260-280, far 480-510
    p.dram_latency = 630;                 // [bench] 570-690
    p.l1_bytes_per_cycle = 126;           // [bench]
    p.l2_bytes_per_cycle = 36;            // [bench]
    p.dram_bytes_per_s = 4.3e12;          // measured, copy
    p.launch_us = 2.0;                    // [est]
    p.atomic_same_address_per_s = 1.9e9;  // [est] one a clock
    p.l2_total_bytes_per_cycle = 3200;    // [est]
    p.dram_read_bytes_per_s = 4.43e+12;   // [est]
    p.dram_write_bytes_per_s = 4.17e+12;  // [est]
    p.dram_saturating_sms = 60;           // [est]
    p.sm_max_bytes_in_flight = 40000;     // [est]
    p.atomic_spread_ops_per_cycle = 96;   // [est]
    p.block_launch_per_cycle = 0.84;      // seen on an H200
    p.wgmma_f16_fma = 2048;               // [vendor]
    p.wgmma_tf32_fma = 1024;              // [vendor]
    p.wgmma_s8_fma = 4096;                // [vendor]
    all.push_back(p);
  }
  {
    Profile p;
    p.arch = "sm_100";
    p.name = "B200";
    p.sm_count = 148;                     // [vendor]
    p.clock_hz = 1.85e9;                  // [est]
    p.shared_per_sm = 228 * kKiB;         // [guide]
    p.shared_per_block = 227 * kKiB;      // [guide]
    p.l1_bytes = 256 * kKiB;              // [guide]
    p.l2_bytes = 126 * kMiB;              // [vendor]
    p.memory_bytes = 180'000'000'000;     // [vendor]
    p.fp32_lanes = 128;                   // [guide]
    p.fp64_lanes = 64;                    // [guide]
    p.l1_latency = 38;                    // [est] near sm_90
    p.shared_latency = 29;                // [est] near sm_90
    p.l2_latency = 330;                   // [est]
    p.dram_latency = 750;                 // [est]
    p.l1_bytes_per_cycle = 126;           // [est] as sm_90
    p.l2_bytes_per_cycle = 40;            // [est]
    p.dram_bytes_per_s = 7.2e12;          // [vendor] 8 TB/s, 90 % achieved
    p.launch_us = 2.0;                    // [est]
    p.atomic_same_address_per_s = 1.8e9;  // [est]
    p.l2_total_bytes_per_cycle = 4500;    // [est]
    p.dram_read_bytes_per_s = 7.42e+12;   // [est]
    p.dram_write_bytes_per_s = 6.98e+12;  // [est]
    p.dram_saturating_sms = 80;           // [est]
    p.sm_max_bytes_in_flight = 40000;     // [est]
    p.atomic_spread_ops_per_cycle = 96;   // [est]
    p.block_launch_per_cycle = 0.84;      // seen on an H200
    all.push_back(p);
  }
  return all;
}

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> kProfiles = make_profiles();
  return kProfiles;
}

}  // namespace

const Profile* find_profile(std::string_view arch) {
  // sm_90a runs what sm_90 runs.
  if (!arch.empty() && (arch.back() == 'a' || arch.back() == 'f')) arch.remove_suffix(1);
  for (const Profile& p : profiles())
    if (p.arch == arch) return &p;
  return nullptr;
}

std::vector<std::string> profile_archs() {
  std::vector<std::string> names;
  for (const Profile& p : profiles()) names.push_back(p.arch);
  return names;
}

}  // namespace hone::emulator
