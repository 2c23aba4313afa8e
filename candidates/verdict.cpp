#include "candidates/verdict.h"

#include <array>

namespace hone {
namespace {

constexpr std::array<std::string_view, 12> kVerdictNames = {
    "ok",           "refused",   "compile_error", "launch_error", "fault",       "race",
    "wrong_result", "tampering", "timeout",       "crash",        "unsupported", "slower"};
constexpr std::array<std::string_view, kAllMathLevels.size()> kMathNames = {
    "exact", "reassociate", "tf32x3", "tf32", "reduced"};

template <class Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}
std::optional<Verdict> parse_verdict(std::string_view text) {
  return find<Verdict>(kVerdictNames, text);
}

std::string_view to_string(MathLevel level) { return kMathNames[static_cast<std::size_t>(level)]; }
std::optional<MathLevel> parse_math_level(std::string_view text) {
  return find<MathLevel>(kMathNames, text);
}
std::vector<std::string> math_level_names() { return {kMathNames.begin(), kMathNames.end()}; }

}  // namespace hone
