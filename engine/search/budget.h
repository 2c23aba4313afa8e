// "60s", "5m", "200": how long a search may go on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "candidates/result.h"

namespace hone {

struct Budget {
  double seconds = 0;            // 0: no limit
  std::int64_t evaluations = 0;  // distinct candidates evaluated; 0: no limit

  /// "90s", "2m", "1h" or a count of evaluations.
  [[nodiscard]] static Result<Budget> parse(std::string_view text);
  /// As parse() reads it: "90s", "200".
  [[nodiscard]] std::string text() const;
  bool operator==(const Budget&) const = default;
};

}  // namespace hone
