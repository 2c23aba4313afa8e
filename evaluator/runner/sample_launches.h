// Runs a part of every launch of a program at its timed sizes and counts, for the time model.
#pragma once

#include <map>
#include <optional>
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

/// Of what all blocks of a launch take, estimated from those that ran: one standard deviation,
/// relative. 0 where all ran.
[[nodiscard]] double sampling_error(const emulator::Counters& counters);

struct SampleOptions {
  /// What one block may take [units]. A reference is sampled whatever it takes, since nothing is
  /// modelled without it; a candidate that takes more than its own limit is no faster than what it
  /// is compared with.
  double most_units = 1e9;
  /// What launches may take that run in full, since later ones do what those have found [units].
  double most_in_full = 200e6;
  std::uint64_t seed = 0;  ///< chooses the blocks; see emulator::RunOptions::sample_seed
  /// Fewest blocks of a launch that has as many, unless one of them is very long: one block alone
  /// does not tell whether others touch the same.
  std::uint64_t least_blocks = 1;
  /// By launch, a block that the sample holds as well: the longest, where somebody ran them all.
  std::vector<std::uint64_t> also = {};
  bool thorough = false;  ///< many blocks, of a final stage: one that is unlike the others shows
};
[[nodiscard]] SampleOptions candidate_sample(bool is_final);

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
  /// The last launch that does what earlier ones have found, or reads what those that were sampled
  /// did not write; running them in full took too long.
  std::optional<std::size_t> follows;
  /// A launch reads of this what no sampled block wrote, though all that could have run; else
  /// empty.
  std::string unwritten;
  /// By output: the part of it that all blocks would write if all wrote as the sampled ones do.
  std::map<std::string, double> written;
  /// Buffers that all blocks of one launch together touch from end to end, by how what the sampled
  /// ones touched grew from block to block.
  std::set<std::string> touched_whole;
};

/// A block that takes more than it may ends the sample: kTimeout, or kUnsupported of a reference.
[[nodiscard]] ProgramSample sample_launches(const protocol::Runnable& runnable, std::uint64_t seed,
                                            const emulator::Module& module,
                                            const emulator::Profile& profile,
                                            const SampleOptions& options = {});

/// By name, as stored with a measurement.
[[nodiscard]] std::map<std::string, double> to_map(const emulator::Counters& counters);

}  // namespace hone::runner
