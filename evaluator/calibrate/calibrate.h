// Measures a real GPU with microbenchmarks and makes a profile for the emulator's time model.
// Single-threaded; the kernels run in a measure runner.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "candidates/result.h"
#include "evaluator/device/emulator/profile_file.h"
#include "evaluator/evaluator.h"
#include "evaluator/protocol/calibrate_messages.h"
#include "evaluator/protocol/measure_messages.h"

namespace hone::calibrate {

/// A number that is no field of the profile: what a person may want to know, in the report only.
struct Extra {
  std::string name, unit;
  double value = 0;
};

struct Calibration {
  emulator::ProfileFile profile;
  std::string base;                   ///< the profile it started from: "sm_90/H200"
  std::vector<std::string> measured;  ///< fields, in the order of measurement
  std::vector<Extra> extras;
  std::vector<std::string> warnings;  ///< what was not measured or is not plausible
  double seconds = 0;
};

/// Runs one microbenchmark. An Error ends the calibration; BenchReply::error only loses a field.
using Bench = std::function<Result<protocol::BenchReply>(const protocol::BenchRequest&)>;
using Progress = std::function<void(const std::string& line)>;

/// All benchmarks, in a fixed order.
[[nodiscard]] Result<Calibration> measure(const protocol::DeviceFacts& facts,
                                          const protocol::BenchDevice& device, const Bench& bench,
                                          const Progress& progress);

/// Opens cuda:`ordinal`, compiles the benchmarks for it and measures. Errors: kEnvironment.
[[nodiscard]] Result<Calibration> calibrate(int ordinal, const EvaluatorOptions& options,
                                            const Progress& progress);

/// Only what a roof needs, in seconds. `measured_at` is left to the caller. Errors: kEnvironment.
[[nodiscard]] Result<Ceilings> ceilings(const protocol::DeviceFacts& facts,
                                        const protocol::BenchDevice& device, const Bench& bench);
[[nodiscard]] Result<Ceilings> ceilings(int ordinal, const EvaluatorOptions& options);

/// The whole device's, from one SM's rates and the clock.
[[nodiscard]] Ceilings ceilings_of(const emulator::Profile& profile, std::string source);

[[nodiscard]] std::string_view kernels_text();  ///< kernels.cu
enum class For { kProfile, kCeilings };         ///< the latter need a part of them
[[nodiscard]] std::vector<std::string> kernel_names(For what = For::kProfile);

}  // namespace hone::calibrate
