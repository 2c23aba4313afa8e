// Launches, the clock, arithmetic and barriers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluator/calibrate/session.h"

namespace hone::calibrate {

void measure_clock(Session& s) {
  s.group("clock and launches");
  const int sms = s.facts.sm_count;
  std::vector<double> clocks;
  for (int i = 0; i < 3; ++i) {
    const auto words = s.words({"clock_under_load", sms * 2, 1024, 0, {5000, 1, 1}});
    clocks.push_back(words[0] / words[1] * 1e9);
  }
  std::sort(clocks.begin(), clocks.end());
  s.clock_hz = clocks[1];
  s.set("clock_hz", clocks[1], "measured: SM clock against the global timer, FMA on every SM");
  if (!(s.clock_hz > 1e8 && s.clock_hz < 1e10)) s.clock_hz = s.kept("clock_hz");

  s.launch_us = s.time_us({"empty", 1, 32}, 31);
  s.set("launch_us", s.launch_us, "measured: events around one empty kernel in a busy stream");
  if (!(s.launch_us > 0)) s.launch_us = s.kept("launch_us");
}

void measure_launches(Session& s) {
  measure_clock(s);
  const int sms = s.facts.sm_count;
  BenchRequest many{"empty", 1, 32};
  many.launches = 101;
  many.hold_us = 3000;  // all are queued by then
  s.set("launch_gap_us", (s.time_us(many) - s.launch_us) / 100,
        "measured: 101 queued empty kernels against one");
  many.blocks = sms;
  many.threads = 256;
  s.extra("launch_gap_us, one block of 256 an SM", (s.time_us(many) - s.launch_us) / 100, "us");

  double blocks_per_cycle = 0, warps_per_cycle = 0;
  for (const int threads : {32, 64, 128, 256, 512, 1024}) {
    const int blocks = sms * 1500;
    const double rate = blocks / s.work_cycles({"empty", blocks, threads});
    s.extra(fmt::format("block_launch_per_cycle, {} threads", threads), rate, "blocks/cycle");
    if (std::isfinite(rate)) {
      blocks_per_cycle = std::max(blocks_per_cycle, rate);
      warps_per_cycle = std::max(warps_per_cycle, rate * threads / 32);
    }
  }
  s.set("block_launch_per_cycle", blocks_per_cycle, "measured: empty blocks, the best of 32-1024");
  s.set("warp_launch_per_cycle", warps_per_cycle, "measured: empty blocks, the best of 32-1024");

  // One block an SM at a time: each starts when the one before it has drained.
  for (const int threads : {256, 32, 1024}) {
    BenchRequest few{"empty", sms, threads, static_cast<int>(s.facts.shared_per_block)};
    const double one = s.time_us(few);
    few.blocks = sms * 33;
    const double cycles = (s.time_us(few) - one) / 32 * 1e-6 * s.clock_hz;
    if (threads == 256) {
      s.set("block_overhead_cycles", cycles,
            "measured: empty blocks of 256 threads that fill an SM, one after another");
    }
    s.extra(fmt::format("block_overhead_cycles, {} threads", threads), cycles, "cycles");
  }
}

namespace {

struct Class {
  const char* kernel;
  int instructions;     ///< in one operation
  const char* lanes;    ///< field; null: an extra
  const char* latency;  ///< likewise
};

constexpr double kRounds = 1024;  // operations in one round of latency_ and of rate_ kernels

double latency(Session& s, const Class& c) {
  constexpr int kN = 4;
  const std::string kernel = std::string("latency_") + c.kernel;
  return s.cycles({kernel, 1, 32, 0, {kN, 1, 1}}) / (kN * kRounds * c.instructions);
}

/// Operations of a warp, in one SM, a cycle.
double warp_rate(Session& s, const Class& c) {
  constexpr int kN = 8, kThreads = 1024;
  const std::string kernel = std::string("rate_") + c.kernel;
  return kN * kRounds * c.instructions * (kThreads / 32) /
         s.cycles({kernel, 1, kThreads, 0, {kN, 1, 1}});
}

struct Tensor {
  Class c;
  double fma;  ///< of one instruction
};
constexpr Tensor kTensors[] = {{{"mma_f16", 1, "tensor_f16_fma", "tensor_latency"}, 16 * 8 * 16},
                               {{"mma_bf16", 1, "tensor_bf16_fma", nullptr}, 16 * 8 * 16},
                               {{"mma_tf32", 1, "tensor_tf32_fma", nullptr}, 16 * 8 * 8},
                               {{"mma_s8", 1, "tensor_s8_fma", nullptr}, 16 * 8 * 32}};

void set_lanes(Session& s, const Class& c) {
  const double lanes = 32 * warp_rate(s, c);
  if (c.lanes != nullptr) {
    s.set(c.lanes, lanes, fmt::format("measured: 32 warps of one SM, kernel rate_{}", c.kernel));
  } else {
    s.extra(fmt::format("{} rate", c.kernel), lanes, "lanes/cycle/SM");
  }
}

void set_rate(Session& s, const Tensor& t) {
  s.set(t.c.lanes, t.fma * warp_rate(s, t.c),
        fmt::format("measured: mma.sync in 32 warps of one SM, kernel rate_{}", t.c.kernel));
}

void set_wgmma_rates(Session& s) {
  if (s.facts.arch != "sm_90") return;
  // 256 threads are two warpgroups; 32 B of K are 16, 8 and 32 elements.
  constexpr int kN = 64;
  const auto rate = [&](const char* kernel, int k) {
    return 2.0 * kN * 16 * 64 * 128 * k / s.cycles({kernel, 1, 256, 0, {kN, 0, 0}});
  };
  const std::string how = "measured: m64n128, 2 warpgroups of one SM, kernel ";
  s.set("wgmma_f16_fma", rate("wgmma_f16", 16), how + "wgmma_f16");
  s.set("wgmma_tf32_fma", rate("wgmma_tf32", 8), how + "wgmma_tf32");
  s.set("wgmma_s8_fma", rate("wgmma_s8", 32), how + "wgmma_s8");
}

}  // namespace

void measure_arithmetic(Session& s) {
  s.group("arithmetic");
  constexpr Class kClasses[] = {{"fp32", 1, "fp32_lanes", "fp32_latency"},
                                {"fp64", 1, "fp64_lanes", "fp64_latency"},
                                {"fp16", 1, "fp16_lanes", "fp16_latency"},
                                {"multiply", 1, "int_lanes", nullptr},
                                // Adds may go to the multiplier's pipe: two pipes together.
                                {"logic", 2, nullptr, "int_latency"},
                                {"popc", 1, nullptr, nullptr},
                                {"ex2", 1, "sfu_lanes", "sfu_latency"},
                                {"rsqrt", 1, nullptr, nullptr},
                                {"shuffle", 1, "shuffle_lanes", "shuffle_latency"},
                                {"convert", 2, "conversion_lanes", "conversion_latency"}};
  for (const Class& c : kClasses) {
    const double cycles = latency(s, c);
    if (c.latency != nullptr) {
      s.set(c.latency, cycles,
            fmt::format("measured: dependent chain, kernel latency_{}", c.kernel));
    } else {
      s.extra(fmt::format("{} latency", c.kernel), cycles, "cycles");
    }
    set_lanes(s, c);
  }
  s.group("tensor cores");
  for (const Tensor& t : kTensors) {
    const double cycles = latency(s, t.c);
    if (t.c.latency != nullptr)
      s.set(t.c.latency, cycles, "measured: dependent accumulators, kernel latency_mma_f16");
    s.extra(fmt::format("{} latency", t.c.kernel), cycles, "cycles");
    set_rate(s, t);
  }
  set_wgmma_rates(s);
  for (const int threads : {256, 32, 128, 1024}) {
    constexpr int kN = 64;
    const double cycles = s.cycles({"barriers", 1, threads, 0, {kN, 0, 0}}) / (kN * 16);
    if (threads == 256) s.set("barrier_cycles", cycles, "measured: 256 threads, back to back");
    s.extra(fmt::format("barrier_cycles, {} threads", threads), cycles, "cycles");
  }
}

void measure_arithmetic_rates(Session& s) {
  for (const Class& c :
       {Class{"fp32", 1, "fp32_lanes", nullptr}, {"fp64", 1, "fp64_lanes", nullptr}})
    set_lanes(s, c);
  for (const Tensor& t : kTensors)
    if (std::string_view(t.c.kernel) != "mma_bf16") set_rate(s, t);  // which is as fast as f16's
  set_wgmma_rates(s);
}

}  // namespace hone::calibrate
