// The roofline model (Williams, Waterman, Patterson 2009): no program can be faster than its
// compulsory traffic at full bandwidth, nor than its arithmetic at full rate.
#include <fmt/format.h>

#include <algorithm>

#include "evaluator/evaluator.h"
#include "evaluator/roofline/floor.h"

namespace hone {
namespace {

// Dense tensor-core rate over fp32 FMA rate for 16-bit inputs: 990 / 67 on an H100 or H200. For
// devices whose rate is not known.
constexpr double kHalfPrecisionFactor = 15;
// Tensor cores for f64 exist on some architectures, at this factor; they are not in Ceilings.
constexpr double kFp64TensorFactor = 2;
// Products of three tf32 parts are as good as f32.
constexpr double kTf32Parts = 3;

bool has(const ConcreteProgram& program, auto is) {
  return std::ranges::any_of(program.buffers, is, &ConcreteBuffer::type);
}

}  // namespace

double arithmetic_rate(const ConcreteProgram& reference, MathLevel math, const Ceilings& ceilings,
                       bool generous) {
  const double fp32 = ceilings.fp32_flops_per_s;
  const double half =
      ceilings.f16_flops_per_s > 0 ? ceilings.f16_flops_per_s : kHalfPrecisionFactor * fp32;
  const bool any_half = has(reference, [](ScalarType type) {
    return type == ScalarType::kF16 || type == ScalarType::kBf16;
  });
  // Tensor cores that have them multiply them at the rate of 8-bit integers.
  if (has(reference, [](ScalarType type) { return is_fp8(type); }))
    return std::max(half, ceilings.s8_ops_per_s);
  if (any_half || math == MathLevel::kReduced) return half;
  if (has(reference, [](ScalarType type) { return type == ScalarType::kF64; })) {
    const double fp64 = ceilings.fp64_flops_per_s > 0 ? ceilings.fp64_flops_per_s : fp32;
    return generous ? kFp64TensorFactor * fp64 : fp64;
  }
  const bool bytes = has(reference, [](ScalarType type) {
    return type == ScalarType::kI8 || type == ScalarType::kU8;
  });
  if (generous && (bytes || !has(reference, [](ScalarType type) { return is_float(type); })))
    return std::max(half, ceilings.s8_ops_per_s);
  if (math == MathLevel::kTf32) return std::max(fp32, ceilings.tf32_flops_per_s);
  if (generous || math == MathLevel::kTf32x3)
    return std::max(fp32, ceilings.tf32_flops_per_s / kTf32Parts);
  return fp32;
}

bool has_indices(const ConcreteProgram& reference) {
  return std::ranges::any_of(reference.buffers, [](const ConcreteBuffer& buffer) {
    return buffer.role != Role::kOut && buffer.role != Role::kScratch && !is_float(buffer.type);
  });
}

double arithmetic_us(const ConcreteProgram& reference, double flops, MathLevel math,
                     const Ceilings& ceilings) {
  const double rate = arithmetic_rate(reference, math, ceilings, false);
  return rate > 0 ? flops / rate * 1e6 : 0;
}

Roof roof_of(const ConcreteProgram& reference, double flops, MathLevel math,
             const DeviceInfo& device) {
  Roof roof;
  roof.flops = flops;
  const bool reads_count = !has_indices(reference);
  for (const auto& buffer : reference.buffers) {
    const auto bytes = static_cast<double>(buffer.bytes());
    const bool read = buffer.role == Role::kIn || buffer.role == Role::kInOut;
    if (read && reads_count) roof.bytes += bytes;
    if (is_output(buffer.role)) roof.bytes += bytes;
  }
  const double bandwidth = device.ceilings.dram_bytes_per_s;
  const double memory_us = bandwidth > 0 ? roof.bytes / bandwidth * 1e6 : 0;
  const double compute_us = arithmetic_us(reference, flops, math, device.ceilings);
  roof.memory_bound = memory_us >= compute_us;
  roof.time_us = std::max(memory_us, compute_us);
  return roof;
}

Floor floor_of(const ConcreteProgram& reference, const std::set<std::string>& read_whole,
               const Ceilings& ceilings) {
  double read = 0, written = 0;
  for (const auto& buffer : reference.buffers) {
    const auto bytes = static_cast<double>(buffer.bytes());
    const bool in = buffer.role == Role::kIn || buffer.role == Role::kInOut;
    if (in && read_whole.contains(buffer.name)) read += bytes;
    if (is_output(buffer.role)) written += bytes;
  }
  written = std::max(0.0, written - static_cast<double>(ceilings.l2_bytes));
  Floor floor;
  const auto raise = [&](double amount, double rate, auto why) {
    const double us = rate > 0 ? amount / rate * 1e6 : 0;
    if (us > floor.time_us) floor = {us, why(us)};
  };
  const auto moving = [](const char* what, double bytes, double rate) {
    return [=](double us) {
      return fmt::format("{} {:.1f} MiB takes {:.2f} us at {:.2f} TB/s", what, bytes / (1 << 20),
                         us, rate / 1e12);
    };
  };
  raise(read, ceilings.dram_read_bytes_per_s,
        moving("reading", read, ceilings.dram_read_bytes_per_s));
  raise(read + written, ceilings.dram_bytes_per_s,
        moving("moving", read + written, ceilings.dram_bytes_per_s));
  return floor;
}

bool is_impossible(double time_us, const Floor& floor, const Ceilings& ceilings) {
  return time_us * (1 + ceilings.uncertainty) < floor.time_us;
}

}  // namespace hone
