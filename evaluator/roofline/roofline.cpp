// The roofline model (Williams, Waterman, Patterson 2009): no program can be faster than its
// compulsory traffic at full bandwidth, nor than its arithmetic at full rate.
#include <algorithm>

#include "evaluator/evaluator.h"

namespace hone {
namespace {

// Dense tensor-core rate over fp32 FMA rate for 16-bit inputs: 990 / 67 on an H100 or H200.
constexpr double kHalfPrecisionFactor = 15;

bool half_precision(ScalarType type) {
  return type == ScalarType::kF16 || type == ScalarType::kBf16;
}

}  // namespace

Roof roof_of(const ConcreteProgram& reference, double flops, const DeviceInfo& device) {
  Roof roof;
  roof.flops = flops;
  bool half = false;
  for (const auto& buffer : reference.buffers) {
    const auto bytes = static_cast<double>(buffer.bytes());
    if (buffer.role == Role::kIn || buffer.role == Role::kInOut) roof.bytes += bytes;
    if (buffer.role == Role::kOut || buffer.role == Role::kInOut) roof.bytes += bytes;
    half = half || half_precision(buffer.type);
  }
  const double memory_us =
      device.dram_bytes_per_s > 0 ? roof.bytes / device.dram_bytes_per_s * 1e6 : 0;
  const double rate = device.fp32_flops_per_s * (half ? kHalfPrecisionFactor : 1);
  const double compute_us = rate > 0 ? flops / rate * 1e6 : 0;
  roof.memory_bound = memory_us >= compute_us;
  roof.time_us = std::max(memory_us, compute_us);
  return roof;
}

}  // namespace hone
