// Latencies, bandwidths, what loads in flight buy, and atomics.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluator/calibrate/session.h"

namespace hone::calibrate {
namespace {

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20;
constexpr int kLine = 128;  // [B]

/// The largest power of two that is at most `value`.
std::int64_t power_of_two(std::int64_t value) {
  std::int64_t p = 1;
  while (p <= value / 2) p *= 2;
  return p;
}

/// Cycles of one load in a chain over `bytes`; each line is visited once, after the other
/// buffer has gone through L2.
double dram_chase(Session& s, std::int64_t bytes) {
  const std::int64_t lines = bytes / kLine;
  constexpr int kN = 256;
  std::vector<double> values;
  for (int i = 0; i < 3; ++i) {
    (void)s.time_us({"chase_make", s.facts.sm_count * 8, 256, 0, {lines, kLine, 0}}, 1);
    const auto other = std::min<std::int64_t>(s.device.buffer_bytes, 16 * s.facts.l2_bytes);
    (void)s.time_us({"read_other", s.facts.sm_count * 8, 256, 0, {other, 1, 0}}, 1);
    BenchRequest chase{"chase_l2", 1, 1, 0, {kN, 0, 4}};
    chase.warmups = 0;
    values.push_back(s.words(chase)[0] / (kN * 16));
  }
  std::sort(values.begin(), values.end());
  return values[1];
}

}  // namespace

void measure_latencies(Session& s) {
  s.group("latency of loads");
  constexpr int kN = 128;
  const auto chase = [&](const char* kernel, std::int64_t bytes) {
    const std::int64_t lines = bytes / kLine;
    (void)s.time_us({"chase_make", 64, 256, 0, {lines, kLine, 0}}, 1);
    // Each line once before: what fits stays.
    return s.cycles({kernel, 1, 1, 0, {kN, 0, lines}}) / (kN * 16);
  };
  s.set("l1_latency", chase("chase_l1", 16 * kKiB), "measured: pointer chase in 16 KiB");
  s.set("shared_latency", s.cycles({"chase_shared", 1, 32, 0, {kN, 0, 0}}) / (kN * 16),
        "measured: pointer chase in shared memory");
  const std::int64_t l2 = std::min<std::int64_t>(16 * kMiB, power_of_two(s.facts.l2_bytes / 2));
  s.set("l2_latency", chase("chase_l2", l2),
        fmt::format("measured: pointer chase over {} MiB", l2 / kMiB));
  s.extra("l2_latency, 1 MiB", chase("chase_l2", kMiB), "cycles");
  const std::int64_t far = std::min<std::int64_t>(1024 * kMiB, power_of_two(s.device.buffer_bytes));
  s.set("dram_latency", dram_chase(s, far),
        fmt::format("measured: pointer chase over {} MiB, cold", far / kMiB));
  for (const std::int64_t mib : {32, 128, 4096})
    if (mib * kMiB <= s.device.buffer_bytes)
      s.extra(fmt::format("dram_latency, {} MiB", mib), dram_chase(s, mib * kMiB), "cycles");
}

namespace {

void one_sm(Session& s) {
  constexpr int kThreads = 1024, kN = 256;
  const auto rate = [&](const char* kernel, std::int64_t bytes, int shared) {
    return kN * 8.0 * kThreads * 16 / s.cycles({kernel, 1, kThreads, shared, {kN, bytes, 0}});
  };
  s.set("l1_bytes_per_cycle", rate("read_block_l1", 32 * kKiB, 0),
        "measured: one SM, 16 B loads in 32 KiB");
  s.set("shared_bytes_per_cycle", rate("read_block_shared", 32 * kKiB, 32 << 10),
        "measured: one SM, 16 B loads, no conflicts");
  s.set("l2_bytes_per_cycle", rate("read_block_l2", 8 * kMiB, 0),
        "measured: one SM alone, 16 B loads in 8 MiB");
  double conflicts[2] = {};
  for (const int stride : {1, 2, 4, 8, 16, 32}) {
    const double cycles =
        s.cycles({"shared_stride", 1, kThreads, 0, {kN, stride, 0}}) / (kN * 16 * (kThreads / 32));
    s.extra(fmt::format("shared load, stride {}", stride), cycles, "cycles");
    if (stride == 1) conflicts[0] = cycles;
    if (stride == 32) conflicts[1] = cycles;
  }
  s.set("shared_conflict_cycles", (conflicts[1] - conflicts[0]) / 31,
        "measured: 32-way conflicts against none");
}

/// The fastest of several launch shapes [B/s]. `spread`: how much faster than its median that shape
/// once was, of it.
double best_rate(Session& s, const std::vector<BenchRequest>& shapes, double bytes,
                 double* spread = nullptr) {
  double best = std::nan("");
  double spread_of_best = 0;
  for (const BenchRequest& shape : shapes) {
    const std::vector<double> times = s.times_us(shape);
    const auto rate_of = [&](double us) { return bytes / (us - s.launch_us) * 1e6; };
    const double rate = times.empty() ? std::nan("") : rate_of(times[times.size() / 2]);
    s.extra(fmt::format("{}, {} blocks of {}", shape.kernel, shape.blocks, shape.threads), rate,
            "B/s");
    if (std::isfinite(rate) && !(best > rate)) {
      best = rate;
      spread_of_best = rate_of(times.front()) / rate - 1;
    }
  }
  if (spread != nullptr) *spread = std::max(*spread, spread_of_best);
  return best;
}

}  // namespace

void measure_gpu_bandwidths(Session& s) {
  const int sms = s.facts.sm_count;
  const std::int64_t l2 = std::min<std::int64_t>(20 * kMiB, s.facts.l2_bytes / 3);
  constexpr std::int64_t kPasses = 50;
  const double l2_rate = best_rate(s,
                                   {{"read_l2_4", sms * 2, 1024, 0, {l2, kPasses, 0}},
                                    {"read_l2_4", sms * 4, 512, 0, {l2, kPasses, 0}}},
                                   static_cast<double>(l2 * kPasses));
  s.set("l2_total_bytes_per_cycle", l2_rate / s.clock_hz,
        fmt::format("measured: every SM, 16 B loads in {} MiB", l2 / kMiB));

  const std::int64_t bytes = std::min<std::int64_t>(s.device.buffer_bytes, 4096 * kMiB);
  const auto n = static_cast<double>(bytes);
  const std::string how = fmt::format("measured: {} MiB", bytes / kMiB);
  s.set("dram_read_bytes_per_s",
        best_rate(s,
                  {{"read_4", sms * 2, 1024, 0, {bytes, 1, 0}},
                   {"read_8", sms * 2, 1024, 0, {bytes, 1, 0}},
                   {"read_4", sms * 32, 256, 0, {bytes, 1, 0}}},
                  n, &s.dram_spread),
        how + " read");
  s.set("dram_write_bytes_per_s",
        best_rate(s,
                  {{"write_all", sms * 2, 1024, 0, {bytes, 0, 0}},
                   {"write_all", sms * 32, 256, 0, {bytes, 0, 0}}},
                  n, &s.dram_spread),
        how + " written");
  s.set("dram_bytes_per_s",
        best_rate(s,
                  {{"copy_all", sms * 2, 1024, 0, {bytes, 0, 0}},
                   {"copy_all", sms * 32, 256, 0, {bytes, 0, 0}}},
                  2 * n, &s.dram_spread),
        how + " copied, read and written together");
}

namespace {

/// Bandwidth against the number of SMs, and against bytes in flight.
void saturation(Session& s) {
  const int sms = s.facts.sm_count;
  const std::int64_t bytes = std::min<std::int64_t>(s.device.buffer_bytes, 1024 * kMiB);
  const auto rate = [&](const char* kernel, int blocks, int threads) {
    return static_cast<double>(bytes) /
           (s.time_us({kernel, blocks, threads, 0, {bytes, 1, 0}}, 3) - s.launch_us) * 1e6;
  };
  const double enough = 0.95 * s.kept("dram_read_bytes_per_s");
  double last_count = 0, last_rate = 0, needed = std::nan("");
  for (int count = 1; count <= sms;) {
    // Up to one block an SM: the hardware spreads them.
    const double here = rate("read_8", count, 1024);
    s.extra(fmt::format("read, {} SMs", count), here, "B/s");
    if (count == 1) {
      s.set("sm_max_bytes_in_flight", here / s.clock_hz * s.kept("dram_latency"),
            "measured: bandwidth of one SM alone, 128 KiB asked for at a time, x dram_latency");
    }
    if (std::isnan(needed) && here >= enough)
      needed = last_count + (count - last_count) * (enough - last_rate) / (here - last_rate);
    last_count = count;
    last_rate = here;
    if (count == sms) break;
    count = std::min(sms, count < 8 ? count * 2 : count + 8);
  }
  s.set("dram_saturating_sms", std::isnan(needed) ? sms : needed,
        "measured: 95 % of the read limit, blocks of 1024 threads");
  for (const char* kernel : {"read_1", "read_2", "read_4", "read_8"}) {
    for (const int threads : {32, 64, 128, 256, 512, 1024}) {
      const int flight = threads * 16 * (kernel[5] - '0');
      s.extra(fmt::format("read, {} B in flight an SM ({} threads)", flight, threads),
              rate(kernel, sms, threads), "B/s");
    }
  }
}

}  // namespace

void measure_bandwidths(Session& s) {
  s.group("bandwidth of one SM");
  one_sm(s);
  s.group("bandwidth of the GPU");
  measure_gpu_bandwidths(s);
  s.group("what SMs and loads in flight it takes");
  saturation(s);
}

void measure_atomics(Session& s) {
  s.group("atomics");
  const int blocks = s.facts.sm_count * 2, threads = 1024;
  const auto rate = [&](const char* kernel, int n, std::int64_t bytes) {
    return static_cast<double>(blocks) * threads * n /
           s.work_cycles({kernel, blocks, threads, 0, {n, bytes, 0}}, 5);
  };
  const double hot = rate("atomic_hot_f32", 16, 0);
  s.set("atomic_hot_ops_per_cycle", hot, "measured: float, every thread on one address");
  s.set("atomic_same_address_per_s", hot * s.clock_hz,
        "measured: atomic_hot_ops_per_cycle x clock");
  s.set("atomic_hot_int_ops_per_cycle", rate("atomic_hot_s32", 64, 0),
        "measured: int, every thread on one address that the compiler knows to be one");
  s.set("atomic_sector_ops_per_cycle", rate("atomic_sectors_f32", 32, 0),
        "measured: float, a warp's lanes in 32 sectors of one 1 KiB");
  s.extra("atomic, int, 32 sectors of 1 KiB", rate("atomic_sectors_s32", 32, 0), "lanes/cycle");
  s.extra("atomic, float, neighbouring words of 1 KiB", rate("atomic_line_f32", 32, 0),
          "lanes/cycle");
  s.set("atomic_spread_ops_per_cycle", rate("atomic_spread_f32", 128, 16 * kMiB),
        "measured: float, random words of 16 MiB");
  s.extra("atomic, float, random words of 64 MiB", rate("atomic_spread_f32", 128, 64 * kMiB),
          "lanes/cycle");
  constexpr int kN = 64;
  const auto shared = [&](const char* kernel, int of, int stride) {
    return s.cycles({kernel, 1, of, 0, {kN, stride, 0}}) / (kN * 8.0 * of);  // cycles a lane
  };
  s.set("shared_atomic_ops_per_cycle", 1 / shared("shared_atomics_s32", threads, 1),
        "measured: int, each lane its own word, 32 warps");
  s.extra("shared_atomic_ops_per_cycle, float", 1 / shared("shared_atomics_f32", threads, 1),
          "lanes/cycle/SM");
  s.set("shared_atomic_same_address_int_cycles", shared("shared_atomics_s32", 32, 0),
        "measured: int, one warp on one word");
  s.set("shared_atomic_same_address_float_cycles", shared("shared_atomics_f32", 32, 0),
        "measured: float, one warp on one word");
  s.extra("shared_atomic_same_address_int_cycles, 32 warps", shared("shared_atomics_s32", 1024, 0),
          "cycles/lane");
  s.extra("shared_atomic_same_address_float_cycles, 32 warps",
          shared("shared_atomics_f32", 1024, 0), "cycles/lane");
}

}  // namespace hone::calibrate
