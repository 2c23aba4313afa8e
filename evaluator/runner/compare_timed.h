// Does a candidate write at the timed sizes what the reference writes there? Of a program that is
// too large to emulate in full, blocks at secret places are run and what they write is compared.
#pragma once

#include <cstdint>
#include <string>

#include "candidates/task.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/protocol/messages.h"

namespace hone::runner {

/// What one comparison may take, of the candidate and of the reference each (see units_of).
inline constexpr double kComparedUnits = 12e6;

struct TimedComparison {
  Verdict verdict = Verdict::kOk;
  std::string detail;
  double max_rel_error = 0;
  std::int64_t elements = 0;  ///< that were compared
  /// Why an output was not compared at all, "buffer: reason"; empty where all were.
  std::string not_compared;
};

/// The modules of a case's programs.
struct TimedModules {
  const emulator::Module& reference;
  const emulator::Module& candidate;
  const emulator::Module* precise = nullptr;  ///< of the reference in double, where there is one
};

/// `places` chooses what is compared; who wrote the candidate must not know it.
[[nodiscard]] TimedComparison compare_timed(const protocol::Case& one, const TimedModules& modules,
                                            const Tolerance& tolerance, std::uint64_t places);

}  // namespace hone::runner
