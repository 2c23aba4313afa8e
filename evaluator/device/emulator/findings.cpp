// Names of what the checkers find.
#include "evaluator/device/emulator/emulator.h"

namespace hone::emulator {

std::string_view to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::kOutOfBounds:
      return "out_of_bounds";
    case FindingKind::kMisaligned:
      return "misaligned";
    case FindingKind::kRace:
      return "race";
    case FindingKind::kUninitialised:
      return "uninitialised";
    case FindingKind::kBarrier:
      return "barrier";
    case FindingKind::kWarpMask:
      return "warp_mask";
    case FindingKind::kTrap:
      return "trap";
    case FindingKind::kAssert:
      return "assert";
    case FindingKind::kStackOverflow:
      return "stack_overflow";
    case FindingKind::kAsync:
      return "async";
    case FindingKind::kMBarrier:
      return "mbarrier";
    case FindingKind::kDeadlock:
      return "deadlock";
    case FindingKind::kTimeout:
      return "timeout";
    case FindingKind::kUnsupported:
      return "unsupported";
    case FindingKind::kOther:
      return "other";
  }
  return "other";
}

std::optional<FindingKind> parse_finding_kind(std::string_view text) {
  for (const FindingKind kind : kAllFindingKinds)
    if (to_string(kind) == text) return kind;
  return std::nullopt;
}

}  // namespace hone::emulator
