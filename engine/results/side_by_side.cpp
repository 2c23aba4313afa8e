#include "engine/results/side_by_side.h"

#include <algorithm>
#include <dtl/dtl.hpp>
#include <sstream>
#include <utility>

namespace hone::results {
namespace {

using Lines = std::vector<std::string>;

// Time grows with the product of all lines and those that differ: above this nothing is aligned.
constexpr std::size_t kMostLines = 20'000;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

/// Collects lines of either side until both go on together.
class Pairs {
 public:
  void remove(std::string line) { left_.push_back(std::move(line)); }
  void add(std::string line) { right_.push_back(std::move(line)); }
  void same(std::string line) {
    flush();
    std::string copy = line;
    rows_.push_back({LineKind::kSame, ++left_no_, std::move(copy), ++right_no_, std::move(line)});
  }
  std::vector<LinePair> take() {
    flush();
    return std::move(rows_);
  }

 private:
  void flush() {
    for (std::size_t i = 0; i < std::max(left_.size(), right_.size()); ++i) {
      LinePair row;
      const bool left = i < left_.size(), right = i < right_.size();
      row.kind = left && right ? LineKind::kChanged : left ? LineKind::kRemoved : LineKind::kAdded;
      if (left) row.left_no = ++left_no_, row.left = std::move(left_[i]);
      if (right) row.right_no = ++right_no_, row.right = std::move(right_[i]);
      rows_.push_back(std::move(row));
    }
    left_.clear();
    right_.clear();
  }

  Lines left_, right_;
  int left_no_ = 0, right_no_ = 0;
  std::vector<LinePair> rows_;
};

}  // namespace

std::string_view to_string(LineKind kind) {
  switch (kind) {
    case LineKind::kSame:
      return "same";
    case LineKind::kChanged:
      return "changed";
    case LineKind::kRemoved:
      return "removed";
    case LineKind::kAdded:
      return "added";
  }
  return "same";
}

std::vector<LinePair> side_by_side(const std::string& left, const std::string& right) {
  Lines before = lines_of(left), after = lines_of(right);
  Pairs pairs;
  if (before.size() + after.size() > kMostLines) {
    if (before == after) {
      for (std::string& line : before) pairs.same(std::move(line));
    } else {
      for (std::string& line : before) pairs.remove(std::move(line));
      for (std::string& line : after) pairs.add(std::move(line));
    }
    return pairs.take();
  }
  // Without onHuge(), which finds the shortest at any price, memory has a limit.
  dtl::Diff<std::string> diff(before, after);
  diff.compose();
  for (const auto& [line, info] : diff.getSes().getSequence()) {
    if (info.type == dtl::SES_DELETE) {
      pairs.remove(line);
    } else if (info.type == dtl::SES_ADD) {
      pairs.add(line);
    } else {
      pairs.same(line);
    }
  }
  return pairs.take();
}

}  // namespace hone::results
