#include "engine/results/side_by_side.h"

#include <gtest/gtest.h>

#include <random>

namespace hone::results {
namespace {

std::string join(const std::vector<LinePair>& rows, bool left) {
  std::string text;
  int expected = 0;
  for (const LinePair& row : rows) {
    const int number = left ? row.left_no : row.right_no;
    if (number == 0) continue;
    EXPECT_EQ(number, ++expected);
    text += (left ? row.left : row.right) + "\n";
  }
  return text;
}

TEST(SideBySide, PutsWhatReplacesBesideWhatItReplaces) {
  const auto rows = side_by_side("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0], (LinePair{LineKind::kSame, 1, "a", 1, "a"}));
  EXPECT_EQ(rows[1], (LinePair{LineKind::kChanged, 2, "b", 2, "B"}));
  EXPECT_EQ(rows[4], (LinePair{LineKind::kAdded, 0, "", 5, "e"}));
  EXPECT_EQ(side_by_side("a\nb\n", "b\n")[0], (LinePair{LineKind::kRemoved, 1, "a", 0, ""}));
  EXPECT_TRUE(side_by_side("", "").empty());
}

TEST(SideBySide, LosesNoLine) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const auto text = [&] {
      std::string out;
      for (unsigned n = random() % 30; n > 0; --n)
        out += std::string(1, "abcd"[random() % 4]) + "\n";
      return out;
    };
    const std::string left = text(), right = text();
    const auto rows = side_by_side(left, right);
    EXPECT_EQ(join(rows, true), left);
    EXPECT_EQ(join(rows, false), right);
    for (const LinePair& row : rows)
      EXPECT_EQ(row.kind == LineKind::kSame,
                row.left == row.right && row.left_no * row.right_no > 0);
  }
}

TEST(SideBySide, LongTextsWithNothingInCommonEnd) {
  std::string left, right;
  for (int i = 0; i < 9000; ++i) {
    left += "l" + std::to_string(i) + "\n";
    right += "r" + std::to_string(i) + "\n";
  }
  auto rows = side_by_side(left, right);
  EXPECT_EQ(join(rows, true), left);
  EXPECT_EQ(join(rows, false), right);
  rows = side_by_side(left + left, right + right);
  EXPECT_EQ(join(rows, true), left + left);
}

}  // namespace
}  // namespace hone::results
