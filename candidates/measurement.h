// Numbers that an evaluation brings home. Times are microseconds of one run of the whole program.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"
#include "candidates/verdict.h"

namespace hone {

/// What the compiler says about one kernel of the program.
struct KernelResources {
  std::string kernel;
  int registers = 0;            // per thread
  int spill_bytes = 0;          // stores + loads [B]
  int stack_bytes = 0;          // [B]
  int static_shared_bytes = 0;  // [B]
  int max_threads = 1024;       // per block, as compiled
  double occupancy = 0;         // resident warps / the most an SM holds, at the timed launch
};

struct Measurement {
  bool modelled = false;         ///< true for anything from emu:
  double time_us = 0;            // median
  double reference_time_us = 0;  // median, paired
  double speedup = 0;            // reference / candidate
  double ci95_low = 0;           // of the speedup
  double ci95_high = 0;
  double roof_fraction = 0;  // roof time / time, 0 when unknown
  std::string bound;         ///< what bounds it, e.g. "dram", "issue", "latency"; may be empty
  std::vector<double> samples_us;
  std::vector<double> reference_samples_us;
  double warm_time_us = 0;  // median with what fits the L2 in it; 0: not taken
  double reference_warm_time_us = 0;
  int outliers = 0;      ///< samples far above their median, of both; kept
  int discarded = 0;     ///< pairs of samples taken while the clocks were down; not kept
  double clock_mhz = 0;  // of the multiprocessors while timing; 0: not known
  std::map<std::string, double> counters;  ///< emulator counters; empty on a GPU
};

/// Where an evaluation spent its time [s]. Gates that several evaluations share a pool for include
/// the wait for a free process of it.
struct GateSeconds {
  double compile = 0;
  double check = 0;    // on the emulator; on emu: devices the modelled time too
  double wait = 0;     // for the GPU, which takes one candidate at a time
  double measure = 0;  // on the GPU: its checks and timed runs

  GateSeconds& operator+=(const GateSeconds& other);
};

/// The outcome of evaluating one candidate.
struct Evaluation {
  Verdict verdict = Verdict::kCrash;
  std::string detail;  ///< one line: where and why
  /// What a reader should know of a result that is ok, of an admission line by line; may be empty.
  std::string note;
  double max_rel_error = 0;  // against the reference, scaled by max(|want|, rms(want))
  /// Of the reference against itself in double precision, likewise; 0: not known
  double reference_error = 0;
  /// The level that its answers were held to: what its steps need, where the checks bear that out;
  /// `exact` only where every answer was the reference's to the bit.
  MathLevel math = MathLevel::kReduced;
  bool final_stage = false;  ///< true when timed in a fresh process with new inputs
  /// kTampering for no other reason than a time below what the hardware can do.
  bool faster_than_roof = false;
  Measurement measurement;  ///< meaningful when verdict is ok
  std::vector<KernelResources> resources;
  /// Of the machine code of all launches, their geometry and arguments at the timed size: equal for
  /// what is one program to the compiler. Empty: not known.
  std::string code_hash;
  double elapsed_s = 0;
  // Of this evaluation only, not stored:
  GateSeconds gates;
  double modelled_us = 0;  // what the time model said before a real GPU was asked; 0: it was not
  /// Measured first (EvaluationRequest::measure_first) and not checked further: it is much slower
  /// than the best, or the search ended meanwhile. Of a stored one by its detail, which then is
  /// kMuchSlower or kSearchEnded.
  bool outpaced = false;
  int expected_checked = 0;      ///< of an admission: check sizes with CheckCase::expected
  std::string expected_differs;  ///< the first place that is not as expected; else empty
  bool screened = false;         ///< not measured: the time model takes it to be too slow
  /// Equal where machine code, launches and buffers at the timed size are, and what the answers are
  /// held to: then times are equal, too. Empty: not known.
  std::string timing_key;
  /// Checked, but not timed: EvaluationRequest::known_times has its time. The rest of the
  /// measurement is what the first one of that key has.
  bool timed_before = false;
};

/// Details of a result whose time is known and that was right at the timed size; nothing else of it
/// was checked.
inline constexpr std::string_view kMuchSlower = "much slower than the best: not checked further";
inline constexpr std::string_view kSearchEnded = "the search ended before it was checked further";
/// The verdict for people: its name, but "unchecked" of one that is ok and outpaced.
[[nodiscard]] std::string_view status_of(const Evaluation& evaluation);

/// Begins the note of a result that lacks the emulator's checks.
inline constexpr std::string_view kNotEmulated = "not run on the emulator";
/// Likewise in it where some output was not, or at too few places.
inline constexpr std::string_view kNotComparedAtTimed = "not compared at the timed size";

void to_json(nlohmann::json& json, const KernelResources& resources);
void to_json(nlohmann::json& json, const Measurement& measurement);
void to_json(nlohmann::json& json, const Evaluation& evaluation);
[[nodiscard]] Result<Evaluation> evaluation_from_json(const nlohmann::json& json);

}  // namespace hone
