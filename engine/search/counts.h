// What a search has tried so far.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>

#include "candidates/verdict.h"

namespace hone {

/// How many recipes ended how. `verdicts` is indexed by Verdict.
struct Counts {
  std::int64_t proposed = 0;
  std::int64_t duplicate = 0;
  /// evaluated, and so much slower than the best that no more was checked
  std::int64_t outpaced = 0;
  std::int64_t screened = 0;  ///< left out by the time model, not measured
  std::array<std::int64_t, std::size(kAllVerdicts)> verdicts{};

  /// Compiled, at least.
  [[nodiscard]] std::int64_t evaluated() const {
    std::int64_t total = 0;
    for (const Verdict verdict : kAllVerdicts) {
      if (verdict != Verdict::kRefused) total += verdicts[static_cast<std::size_t>(verdict)];
    }
    return total;
  }
  bool operator==(const Counts&) const = default;
};

}  // namespace hone
