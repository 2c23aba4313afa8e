#include "evaluator/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "evaluator/calibrate/session.h"
#include "evaluator/pool/compile_own.h"
#include "evaluator/pool/gpu_client.h"

namespace hone::calibrate {
namespace {

constexpr std::int64_t kBufferBytes = std::int64_t{4} << 30;
/// A right kernel was once 3.7 % faster than the fastest of the benchmarks, on an H200.
constexpr double kMethod = 0.05;

/// 90 of "sm_90".
int number_of(const std::string& arch) { return std::atoi(arch.c_str() + 3); }

/// The GPU's own profile, else its architecture's, else the nearest older one, else the first.
const emulator::ProfileFile& base_for(const std::string& arch, const std::string& name) {
  if (const auto* own = emulator::find_profile_file(arch + "/" + name)) return *own;
  if (const auto* same = emulator::find_profile_file(arch)) return *same;
  const auto& all = emulator::builtin_profiles();
  const emulator::ProfileFile* nearest = &all.front();
  for (const auto& p : all) {
    const int here = number_of(p.profile.arch);
    if (here <= number_of(arch) && here > number_of(nearest->profile.arch)) nearest = &p;
  }
  return *nearest;
}

std::string short_name(std::string name) {
  for (const std::string prefix : {"NVIDIA ", "GeForce "})
    if (name.starts_with(prefix) && name.size() > prefix.size()) name.erase(0, prefix.size());
  return name;
}

void set_limits(Session& s) {
  const std::string how = "read from the device";
  const auto& d = s.device;
  s.set("sm_count", s.facts.sm_count, how);
  s.set("max_warps_per_sm", static_cast<double>(d.threads_per_sm / 32), how);
  s.set("max_blocks_per_sm", static_cast<double>(d.blocks_per_sm), how);
  s.set("max_threads_per_block", s.facts.threads_per_block, how);
  s.set("registers_per_sm", static_cast<double>(d.registers_per_sm), how);
  s.set("shared_per_sm", static_cast<double>(d.shared_per_sm), how);
  s.set("shared_per_block", static_cast<double>(s.facts.shared_per_block), how);
  s.set("shared_reserved", static_cast<double>(d.shared_reserved), how);
  s.set("l2_bytes", static_cast<double>(s.facts.l2_bytes), how);
  s.set("memory_bytes", static_cast<double>(s.facts.memory_bytes), how);
}

}  // namespace

std::vector<std::string> kernel_names(For what) {
  // "BENCH name(", "BENCH_256 name(", "CHASE(name," and "ARITHMETIC(name," begin a line.
  std::vector<std::string> names;
  const std::string_view text = kernels_text();
  const bool ceilings = what == For::kCeilings;
  bool left_out = false;
  for (std::size_t line = 0; line != std::string_view::npos && line < text.size();) {
    const std::string_view rest = text.substr(line);
    const auto word = [&](std::string_view before) {
      return std::string(
          rest.substr(before.size(), rest.find_first_of("(,", before.size()) - before.size()));
    };
    if (rest.starts_with("#ifndef HONE_CEILINGS")) left_out = ceilings;
    if (rest.starts_with("#endif")) left_out = false;
    if (!left_out) {
      for (const std::string_view before : {"BENCH ", "BENCH_256 ", "CHASE("})
        if (rest.starts_with(before)) names.push_back(word(before));
      if (rest.starts_with("ARITHMETIC(")) {
        if (!ceilings) names.push_back("latency_" + word("ARITHMETIC("));
        names.push_back("rate_" + word("ARITHMETIC("));
      }
    }
    const auto end = text.find('\n', line);
    line = end == std::string_view::npos ? end : end + 1;
  }
  return names;
}

namespace {

/// The nearest built-in profile under the device's own name, and that profile itself.
std::pair<Calibration, const emulator::ProfileFile*> begin_with(
    const protocol::DeviceFacts& facts) {
  Calibration result;
  const std::string name = short_name(facts.name);
  const auto& base = base_for(facts.arch, name);
  result.profile = base;
  result.base = base.profile.arch + "/" + base.profile.name;
  result.profile.profile.arch = facts.arch;
  result.profile.profile.name = name;
  if (name != base.profile.name || facts.arch != base.profile.arch) {
    for (auto& [field, source] : result.profile.sources)
      source = fmt::format("not measured, as {}: {}", result.base, source);
  }
  return {std::move(result), &base};
}

}  // namespace

Result<Calibration> measure(const protocol::DeviceFacts& facts, const protocol::BenchDevice& device,
                            const Bench& bench, const Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  auto [result, base] = begin_with(facts);
  Session session(facts, device, bench, progress, result);
  set_limits(session);
  measure_launches(session);
  measure_arithmetic(session);
  measure_latencies(session);
  measure_bandwidths(session);
  measure_atomics(session);
  if (session.failed()) return std::unexpected(*session.failed());
  // What was measured apart must hold together, or the file could not be read again.
  const auto& p = result.profile.profile;
  if (!(p.l1_latency < p.l2_latency && p.l2_latency < p.dram_latency)) {
    session.take_back("l1_latency", *base);
    session.take_back("l2_latency", *base);
    session.take_back("dram_latency", *base);
    result.warnings.emplace_back(
        "l1_latency, l2_latency and dram_latency do not rise; kept the old ones");
  }
  if (auto again = emulator::parse_profile(emulator::to_text(result.profile), "the new profile");
      !again) {
    return fail(ErrorCode::kEnvironment, again.error().message);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

namespace {

/// A GPU with the microbenchmarks loaded.
struct Bed {
  std::unique_ptr<GpuClient> gpu;
  protocol::BenchDevice device;
  [[nodiscard]] Bench bench() {
    return [this](const protocol::BenchRequest& request) { return gpu->bench(request); };
  }
};

Result<Bed> make_bed(int ordinal, const EvaluatorOptions& options, For what,
                     const Progress& progress) {
  progress("opening the GPU");
  auto gpu = GpuClient::open(ordinal, options);
  if (!gpu) return std::unexpected(gpu.error());
  progress("compiling the microbenchmarks");
  CompileJob job{std::string(kernels_text()), {}, kernel_names(what), (*gpu)->facts().arch};
  if (what == For::kCeilings) job.defines["HONE_CEILINGS"] = "1";
  const auto compiled =
      pool::compile_own(job, "the microbenchmarks", options, (*gpu)->facts().driver);
  if (!compiled) return std::unexpected(compiled.error());
  auto device = (*gpu)->bench_load(compiled->cubin, kBufferBytes);
  if (!device) return std::unexpected(device.error());
  return Bed{std::move(*gpu), *device};
}

}  // namespace

Result<Calibration> calibrate(int ordinal, const EvaluatorOptions& options,
                              const Progress& progress) {
  auto bed = make_bed(ordinal, options, For::kProfile, progress);
  if (!bed) return std::unexpected(bed.error());
  return measure(bed->gpu->facts(), bed->device, bed->bench(), progress);
}

Ceilings ceilings_of(const emulator::Profile& profile, std::string source) {
  Ceilings c;
  c.dram_read_bytes_per_s = profile.dram_read_bytes_per_s;
  c.dram_bytes_per_s = std::max(
      {profile.dram_bytes_per_s, profile.dram_read_bytes_per_s, profile.dram_write_bytes_per_s});
  c.l2_bytes_per_s = profile.l2_total_bytes_per_cycle * profile.clock_hz;
  c.l2_bytes = profile.l2_bytes;
  const double device = profile.sm_count * profile.clock_hz * 2;  // an FMA is two operations
  c.fp64_flops_per_s = device * profile.fp64_lanes;
  c.fp32_flops_per_s = device * profile.fp32_lanes;
  c.tf32_flops_per_s = device * std::max(profile.tensor_tf32_fma, profile.wgmma_tf32_fma);
  c.f16_flops_per_s =
      device * std::max({profile.tensor_f16_fma, profile.tensor_bf16_fma, profile.wgmma_f16_fma});
  c.s8_ops_per_s = device * std::max(profile.tensor_s8_fma, profile.wgmma_s8_fma);
  c.source = std::move(source);
  return c;
}

Result<Ceilings> ceilings(const protocol::DeviceFacts& facts, const protocol::BenchDevice& device,
                          const Bench& bench) {
  auto [result, base] = begin_with(facts);
  const Progress silent = [](const std::string&) {};
  Session session(facts, device, bench, silent, result);
  set_limits(session);
  measure_clock(session);
  measure_arithmetic_rates(session);
  measure_gpu_bandwidths(session);
  if (session.failed()) return std::unexpected(*session.failed());
  std::string source = "measured";
  for (const char* field : {"clock_hz", "dram_bytes_per_s", "dram_read_bytes_per_s", "fp32_lanes",
                            "tensor_f16_fma", "tensor_tf32_fma"}) {
    if (std::ranges::find(result.measured, field) == result.measured.end())
      source += fmt::format("{} {}", source == "measured" ? ", but not" : ",", field);
  }
  Ceilings measured = ceilings_of(result.profile.profile, std::move(source));
  measured.uncertainty = std::min(kMethod + session.dram_spread, kUnmeasuredCeilings);
  // Another GPU's bandwidth proves nothing about a time.
  const auto is_measured = [&](const char* field) {
    return std::ranges::find(result.measured, field) != result.measured.end();
  };
  if (!is_measured("dram_read_bytes_per_s")) measured.dram_read_bytes_per_s = 0;
  if (!is_measured("dram_bytes_per_s")) measured.dram_bytes_per_s = 0;
  return measured;
}

Result<Ceilings> ceilings(int ordinal, const EvaluatorOptions& options) {
  auto bed = make_bed(ordinal, options, For::kCeilings, [](const std::string&) {});
  if (!bed) return std::unexpected(bed.error());
  return ceilings(bed->gpu->facts(), bed->device, bed->bench());
}

}  // namespace hone::calibrate
