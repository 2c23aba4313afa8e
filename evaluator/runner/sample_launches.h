// Runs a part of every launch of a program at its timed sizes and counts, for the time model.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "candidates/verdict.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/runner/emulated_program.h"

namespace hone::runner {

/// What the emulator's work is counted in: warp instructions, and more for what takes longer than
/// plain arithmetic. evaluator/survey.h says how long a unit takes.
[[nodiscard]] double units_of(const emulator::Counters& counters);

/// A reference is sampled whatever it takes, up to this [units], since nothing is modelled without
/// it; a candidate that takes more than its own limit is no faster than what it is compared with.
inline constexpr double kReferenceSample = 1e9;
inline constexpr double kCandidateSample = 50e6;

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
  /// Buffers that all blocks of one launch together touch from end to end, by how what the sampled
  /// ones touched grew from block to block.
  std::set<std::string> touched_whole;
};

/// `program` should have been loaded with Outputs::kZero: earlier launches run in part only, and
/// what they would have written may be read. Outputs are garbage afterwards. A block that takes
/// more than `most_units` ends it: kTimeout.
[[nodiscard]] ProgramSample sample_launches(EmulatedProgram& program,
                                            const emulator::Module& module,
                                            const emulator::Profile& profile,
                                            double most_units = kReferenceSample);

/// By name, as stored with a measurement.
[[nodiscard]] std::map<std::string, double> to_map(const emulator::Counters& counters);

}  // namespace hone::runner
