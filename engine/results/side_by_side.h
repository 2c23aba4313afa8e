// Two texts beside each other, line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::results {

enum class LineKind { kSame, kChanged, kRemoved, kAdded };
[[nodiscard]] std::string_view to_string(LineKind kind);  ///< "same", "changed", …

struct LinePair {
  LineKind kind = LineKind::kSame;
  int left_no = 0;  ///< from 1; 0: this side has no line here
  std::string left;
  int right_no = 0;  ///< likewise
  std::string right;
  bool operator==(const LinePair&) const = default;
};

/// Every line of both, in order. Removed lines stand beside those that replace them. Where the
/// texts are long and have little in common, more may be called changed than is.
[[nodiscard]] std::vector<LinePair> side_by_side(const std::string& left, const std::string& right);

}  // namespace hone::results
