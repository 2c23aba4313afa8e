#pragma once

#include <string_view>

namespace hone {

/// Why a search ended.
enum class StopReason {
  kBudget,       ///< its seconds or its evaluations are spent
  kRoof,         ///< the best is as fast as the memory allows
  kExhausted,    ///< the strategy finds nothing new
  kPatience,     ///< nothing faster for the part of the budget that SearchSettings::patience says
  kInterrupted,  ///< by Ctrl-C, or because nobody waits for it any more
};

/// "budget", "roof", …: in JSON and in the database.
[[nodiscard]] constexpr std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kBudget:
      return "budget";
    case StopReason::kRoof:
      return "roof";
    case StopReason::kExhausted:
      return "exhausted";
    case StopReason::kPatience:
      return "patience";
    case StopReason::kInterrupted:
      return "interrupted";
  }
  return "";
}

}  // namespace hone
