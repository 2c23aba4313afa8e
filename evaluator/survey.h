// What running a program on the emulator takes, and what it touches, estimated from a few blocks of
// each launch: before a size is chosen to check at, and for the roof. Plain values.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "candidates/program.h"
#include "candidates/result.h"

namespace hone {

/// Emulated work is counted in units: about what one core does in so many nanoseconds. A size that
/// hone chooses itself is to cost at most so many [s].
inline constexpr double kUnitsPerSecond = 25e6;
inline constexpr double kChosenCheck_s = 2;

struct Survey {
  bool known = false;  ///< false: it does not compile, or its blocks cannot be run alone
  double units = 0;    ///< of one run with every check; the same everywhere
  double seconds = 0;  ///< likewise, as timed here
  /// Distinct bytes that the launch that touches most of a buffer touches of it, by buffer:
  /// extrapolated as if no two blocks shared any, so an upper bound [B].
  std::map<std::string, double> touched;

  /// What one run takes on any machine like the one that kUnitsPerSecond is from.
  [[nodiscard]] double nominal_s() const { return units / kUnitsPerSecond; }
};

class Evaluator;

/// One for each program: milliseconds to a second each. Unknown from an evaluator that has no
/// emulator. An Error is kInfrastructure only, also where `stopping` says that nobody wants them.
/// Thread-safe.
[[nodiscard]] Result<std::vector<Survey>> survey(Evaluator& evaluator,
                                                 const std::vector<ConcreteProgram>& programs,
                                                 const std::stop_token& stopping = {});

}  // namespace hone
