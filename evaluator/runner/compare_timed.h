// Does a candidate write at the timed sizes what the reference writes there? Of a program that is
// too large to emulate in full, blocks at secret places are run and what they write is compared.
#pragma once

#include <cstdint>
#include <string>

#include "candidates/task.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/protocol/messages.h"

namespace hone::runner {

struct TimedComparison {
  Verdict verdict = Verdict::kOk;
  std::string detail;
  double max_rel_error = 0;
  bool same_bits = true;           ///< of all that was compared
  bool useless = false;            ///< made-up inputs on which the reference fails or says nothing
  std::int64_t elements = 0;       ///< that were compared
  std::int64_t blocks = 0;         ///< whose places these are, of both programs
  bool perhaps_by_chance = false;  ///< see check::Comparison
  bool whole = false;              ///< all blocks of the candidate ran
  double units = 0;                ///< that all of this took (see units_of)
  /// Why an output was not compared, or at fewer places than was meant; empty where all were.
  std::string not_compared;
};

/// The modules of a case's programs.
struct TimedModules {
  const emulator::Module& reference;
  const emulator::Module& candidate;
  const emulator::Module* precise = nullptr;  ///< of the reference in double, where there is one
};

struct TimedQuestion {
  Tolerance tolerance;                   ///< check::for_inputs()
  bool exact = false;                    ///< see check::Question
  MathLevel math = MathLevel::kReduced;  ///< see protocol::EmulateRequest
  bool to_the_bit = false;               ///< floats, too
  std::uint64_t places = 0;  ///< chooses what is compared; who wrote the candidate must not know it
  double candidate_units = 0;  ///< what all of its blocks take; 0: not known
  bool thorough = true;        ///< as on the task's own inputs: more places, and another schedule
  bool by_rules = false;       ///< see EvaluationRequest: fewer places do
  /// So many blocks must be compared for a verdict; 0: by the effort.
  std::uint64_t enough = 0;
};

/// Of `one.inputs`: the programs' fills are theirs.
[[nodiscard]] TimedComparison compare_timed(const protocol::Case& one, const TimedModules& modules,
                                            const TimedQuestion& question);

}  // namespace hone::runner
