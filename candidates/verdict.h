// What an evaluation found. A failed candidate is data, never an exception.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone {

enum class Verdict {
  kOk,
  kRefused,  ///< a step could not be replayed, or the source holds what is not accepted
  kCompileError,
  kLaunchError,  ///< too many threads, too much shared memory, ...
  kFault,  ///< out of bounds or a guard zone written, misaligned, uninitialised, trap, divergent
           ///< barrier
  kRace,
  kWrongResult,
  kTampering,  ///< an input was written
  kTimeout,
  kCrash,        ///< the runner died
  kUnsupported,  ///< the emulator does not cover an instruction; the detail names it
};

inline constexpr Verdict kAllVerdicts[] = {
    Verdict::kOk,      Verdict::kRefused, Verdict::kCompileError, Verdict::kLaunchError,
    Verdict::kFault,   Verdict::kRace,    Verdict::kWrongResult,  Verdict::kTampering,
    Verdict::kTimeout, Verdict::kCrash,   Verdict::kUnsupported};

[[nodiscard]] std::string_view to_string(Verdict verdict);  ///< "ok", "wrong_result", ...
[[nodiscard]] std::optional<Verdict> parse_verdict(std::string_view text);

/// How far a candidate may depart from the reference's arithmetic; each level allows those before
/// it.
enum class MathLevel { kExact, kReassociate, kTf32x3, kReduced };
[[nodiscard]] std::string_view to_string(MathLevel level);  ///< "exact", "reassociate", ...
[[nodiscard]] std::optional<MathLevel> parse_math_level(std::string_view text);

}  // namespace hone
