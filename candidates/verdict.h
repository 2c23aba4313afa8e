// What an evaluation found. A failed candidate is data, never an exception.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  kSlower,  ///< on a GPU: far slower than the best known, so it was ended; right or wrong, nobody
            ///< knows
};

inline constexpr Verdict kAllVerdicts[] = {
    Verdict::kOk,      Verdict::kRefused, Verdict::kCompileError, Verdict::kLaunchError,
    Verdict::kFault,   Verdict::kRace,    Verdict::kWrongResult,  Verdict::kTampering,
    Verdict::kTimeout, Verdict::kCrash,   Verdict::kUnsupported,  Verdict::kSlower};

[[nodiscard]] std::string_view to_string(Verdict verdict);  ///< "ok", "wrong_result", ...
[[nodiscard]] std::optional<Verdict> parse_verdict(std::string_view text);

/// How far a candidate may depart from the reference's arithmetic; each level allows those before
/// it. candidates/TASK.md says what each means. The database stores the numbers.
enum class MathLevel {
  kExact,
  kReassociate,
  kTf32x3,   ///< products of f32 as three of TF32: as good as f32
  kTf32,     ///< operands of products rounded once to TF32 (kTf32Rounding), sums in f32
  kReduced,  ///< f16 or bf16, and whatever else the tolerance lets pass
};
inline constexpr std::array kAllMathLevels = {MathLevel::kExact, MathLevel::kReassociate,
                                              MathLevel::kTf32x3, MathLevel::kTf32,
                                              MathLevel::kReduced};
inline constexpr std::string_view kMathLevelNames = "exact, reassociate, tf32x3, tf32, reduced";
/// How kTf32 rounds f32 to the ten explicit bits of TF32: what cvt.rna.tf32.f32 does.
inline constexpr std::string_view kTf32Rounding = "round to nearest, ties away";
[[nodiscard]] std::string_view to_string(MathLevel level);  ///< "exact", "reassociate", ...
[[nodiscard]] std::optional<MathLevel> parse_math_level(std::string_view text);
[[nodiscard]] std::vector<std::string> math_level_names();  ///< of all, the strictest first

}  // namespace hone
