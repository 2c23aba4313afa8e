// Runs a part of every launch of a program at its timed sizes and counts, for the time model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "candidates/verdict.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/runner/emulated_program.h"

namespace hone::runner {

/// One launch and what its sampled blocks did.
struct LaunchSample {
  emulator::Counters counters;  ///< of the sampled blocks
  emulator::LaunchConfig config;
  int registers = 32;
  std::int64_t static_shared_bytes = 0;  // [B]
};

struct ProgramSample {
  Verdict verdict = Verdict::kOk;  ///< kUnsupported: its blocks cannot be sampled
  std::string detail;
  std::vector<LaunchSample> launches;
};

/// `program` should have been loaded with Outputs::kZero: earlier launches run in part only, and
/// what they would have written may be read. Outputs are garbage afterwards.
[[nodiscard]] ProgramSample sample_launches(EmulatedProgram& program,
                                            const emulator::Module& module,
                                            const emulator::Profile& profile);

/// By name, as stored with a measurement.
[[nodiscard]] std::map<std::string, double> to_map(const emulator::Counters& counters);

}  // namespace hone::runner
