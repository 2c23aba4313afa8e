// The rates that a device reaches at most.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "candidates/result.h"

namespace hone {

/// The uncertainty of a rate that comes from a data sheet or from one short copy.
inline constexpr double kUnmeasuredCeilings = 0.1;

/// Of the whole device; an FMA is two operations; 0: not known.
struct Ceilings {
  /// How far a rate may be above what is said here, of it. A benchmark is no proof: another pattern
  /// of accesses may be a little faster.
  double uncertainty = kUnmeasuredCeilings;
  double dram_bytes_per_s = 0;       // the fastest of reading, writing and copying [B/s]
  double dram_read_bytes_per_s = 0;  // [B/s]
  double l2_bytes_per_s = 0;         // read by every SM [B/s]
  std::int64_t l2_bytes = 0;         // [B]
  double fp64_flops_per_s = 0;       // outside the tensor cores
  double fp32_flops_per_s = 0;       // likewise
  double tf32_flops_per_s = 0;       // tensor cores, dense
  double f16_flops_per_s = 0;        // tensor cores, dense; bf16 is as fast
  double s8_ops_per_s = 0;           // tensor cores, dense
  std::string source;       ///< "measured", "profile H200", "copied at start; nominal clock"
  std::string measured_at;  ///< ISO 8601, UTC; empty: not measured by hone's benchmarks

  bool operator==(const Ceilings&) const = default;
};

void to_json(nlohmann::json& json, const Ceilings& ceilings);
/// kInvalidInput: a rate that is no finite number of at least 0.
[[nodiscard]] Result<Ceilings> ceilings_from_json(const nlohmann::json& json);

}  // namespace hone
