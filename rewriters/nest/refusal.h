// Why there is no nest: thrown by what lifts, up to lift(), which says it with its line.
#pragma once

#include <cstdint>
#include <string>

namespace hone::nest {

struct Refusal {
  std::string reason;
  int position = -1;  ///< in the source
  /// Of a loop that was refused: rounds that may be run one after the other instead. 0: nothing
  /// else is tried.
  std::int64_t most_rounds = 1024;
};

}  // namespace hone::nest
