// The messages of the measure mode: a GPU's runner.
//
//   open     {"op", "ordinal"} -> device facts, or {"error"}
//   setup    {"op", "cubin"} -> {"ready"}; the cubin has the helper kernels (fill, compare, …)
//   measure  {"op", …MeasureRequest} -> {…MeasureReply}
//   library  {"op"}: in the mode "library", opens cuBLAS -> {"text"}, or {"error"}
//   bench_load, bench  see evaluator/protocol/calibrate_messages.h
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "evaluator/protocol/messages.h"

namespace hone::protocol {

struct DeviceFacts {
  std::string name;
  std::string arch;    ///< "sm_90"
  std::string driver;  ///< CUDA version that the driver supports: "13.0"
  int sm_count = 0;
  int clock_khz = 0;
  std::int64_t memory_bytes = 0;  // [B]
  std::int64_t l2_bytes = 0;      // [B]
  double dram_bytes_per_s = 0;    // copy, measured by the runner; 0 before setup
  int threads_per_block = 1024;
  std::int64_t shared_per_block = 0;  // with opt-in [B]
  std::int64_t registers_per_block = 0;
};
[[nodiscard]] nlohmann::json to_message(const DeviceFacts& facts);
[[nodiscard]] Result<DeviceFacts> device_facts_from(const nlohmann::json& message);

struct MeasureRequest {
  std::vector<Case> checks;
  Case timed;  ///< without a candidate: an admission
  Tolerance tolerance;
  bool final_stage = false;
  bool exact = true;  ///< what is exact in f32 must be exact; see check::can_be_exact
  /// What answers are held to. At kTf32 they may be off as products of TF32 are.
  MathLevel math = MathLevel::kReduced;
  SameBits bits = SameBits::kFree;
  std::vector<InputSet> other_inputs;  ///< to be tried at the timed size
  double best_time_us = 0;             ///< stop early when clearly slower; 0: none
  std::uint64_t seed = 0;              ///< of the interleaving
  double timeout_s = 20;  ///< of one run of the candidate beyond what the reference takes
  double timing_s = 2;    ///< for the pairs of a final stage
  /// The reference's times as measured before, so that a replaced runner need not repeat them.
  std::vector<double> reference_samples_us;
};
struct MeasureReply {
  Verdict verdict = Verdict::kCrash;
  bool reference_failed = false;
  bool context_lost = false;  ///< the runner must be replaced
  std::string detail;
  std::vector<std::string> said;  ///< what the user should know, line by line
  double max_rel_error = 0;
  bool same_bits = true;  ///< of all answers, but for the sign of zeros
  double time_us = 0;
  double reference_time_us = 0;
  double ci95_low = 0, ci95_high = 0;  ///< of the speedup
  std::vector<double> samples_us;
  std::vector<double> reference_samples_us;
  // The final stage only; see Measurement.
  double warm_time_us = 0, reference_warm_time_us = 0;
  int outliers = 0, discarded = 0;
  double clock_mhz = 0;
};
[[nodiscard]] nlohmann::json to_message(const MeasureRequest& request);
[[nodiscard]] Result<MeasureRequest> measure_request_from(const nlohmann::json& message);
[[nodiscard]] nlohmann::json to_message(const MeasureReply& reply);
[[nodiscard]] Result<MeasureReply> measure_reply_from(const nlohmann::json& message);

}  // namespace hone::protocol
