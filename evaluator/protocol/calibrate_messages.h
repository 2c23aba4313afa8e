// The messages of `hone calibrate` to a GPU's runner, after open and setup (measure_messages.h).
//
//   bench_load  {"op", "cubin", "bytes"}: the microbenchmarks, and two buffers of so many bytes ->
//               {…BenchDevice}
//   bench       {"op", …BenchRequest} -> {…BenchReply}
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "evaluator/protocol/messages.h"

namespace hone::protocol {

/// What the driver says about the device, beyond DeviceFacts.
struct BenchDevice {
  std::int64_t buffer_bytes = 0;  ///< of each buffer: as asked for, or what the device can spare
  std::int64_t threads_per_sm = 0, blocks_per_sm = 0, registers_per_sm = 0;
  std::int64_t shared_per_sm = 0, shared_reserved = 0;  // [B]
};
[[nodiscard]] nlohmann::json to_message(const BenchDevice& device);
[[nodiscard]] Result<BenchDevice> bench_device_from(const nlohmann::json& message);

inline constexpr int kBenchWords = 64;  ///< of the result buffer

/// Launches of one kernel of evaluator/calibrate/kernels.cu.
struct BenchRequest {
  std::string kernel;
  int blocks = 1, threads = 32;
  int shared_bytes = 0;                   // dynamic
  std::array<std::int64_t, 3> numbers{};  ///< n, m, k
  int launches = 1;                       ///< inside one timing
  int warmups = 1, repeats = 1;           ///< timings, those first not told
  double hold_us = 50;                    ///< the stream waits so long before the first
  [[nodiscard]] bool operator==(const BenchRequest&) const = default;
};
[[nodiscard]] nlohmann::json to_message(const BenchRequest& request);
[[nodiscard]] Result<BenchRequest> bench_request_from(const nlohmann::json& message);

struct BenchReply {
  std::vector<double> times_us;     ///< events around the launches, one per repeat
  std::vector<std::int64_t> words;  ///< the result buffer after the last repeat: kBenchWords
  std::string error;                ///< not empty: it did not run, and why
};
[[nodiscard]] nlohmann::json to_message(const BenchReply& reply);
/// A reply to a request with so many repeats.
[[nodiscard]] Result<BenchReply> bench_reply_from(const nlohmann::json& message, int repeats);

}  // namespace hone::protocol
