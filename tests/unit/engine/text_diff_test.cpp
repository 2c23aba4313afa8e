#include "engine/results/text_diff.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(UnifiedDiff, IsEmptyForEqualTexts) {
  EXPECT_EQ(unified_diff("a\nb\n", "a\nb\n", "x", "y"), "");
}

TEST(UnifiedDiff, ShowsAHunkWithItsPlace) {
  const std::string diff = unified_diff("a\nb\nc\n", "a\nB\nc\n", "before", "after");
  EXPECT_EQ(diff, "--- before\n+++ after\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
}

TEST(UnifiedDiff, HandlesEmptySides) {
  EXPECT_NE(unified_diff("", "a\n", "x", "y").find("+a"), std::string::npos);
  EXPECT_NE(unified_diff("a\n", "", "x", "y").find("-a"), std::string::npos);
}

/// What the edits make of the text before.
std::string edited(std::string text, const std::vector<LineEdit>& edits) {
  for (const LineEdit& edit : edits) {
    const std::size_t at = text.find(edit.search);
    EXPECT_NE(at, text.npos) << edit.search;
    EXPECT_EQ(text.find(edit.search, at + 1), text.npos) << edit.search;
    text.replace(at, edit.search.size(), edit.replace);
  }
  return text;
}

TEST(LineEdits, AreAsSmallAsTheyCanBe) {
  const auto edits = line_edits("a\nb\nc\nd\n", "a\nB\nc\nd\n");
  ASSERT_EQ(edits.size(), 1U);
  EXPECT_EQ(edits[0].search, "b\n");
  EXPECT_EQ(edits[0].replace, "B\n");
}

TEST(LineEdits, SearchWhatIsThereOnce) {
  const std::pair<const char*, const char*> cases[] = {
      {"x\ny\nx\ny\nx\nz\n", "x\ny\nx\nY\nx\nz\n"},
      {"x\nx\nx\nx\n", "x\nx\nq\nx\nx\n"},
      {"a\nb\n", "n\na\nb\nm\n"},
      {"a\nx\nb\nx\nc\n", "a\nX\nb\nX\nc\n"},
      {"a\nb\nc\n", "c\n"},
  };
  for (const auto& [before, after] : cases)
    EXPECT_EQ(edited(before, line_edits(before, after)), after) << before;
  EXPECT_TRUE(line_edits("a\n", "a\n").empty());
}

TEST(LineEdits, OfTwoLongTextsAreOneAndTakeNoTime) {
  std::string before = "first\n", after = "first\n";
  for (int i = 0; i < 200'000; ++i) {
    before += std::to_string(i) + "\n";
    after += std::to_string(i * 7 + 3) + "!\n";
  }
  const auto edits = line_edits(before + "last\n", after + "last\n");
  ASSERT_EQ(edits.size(), 1U);
  EXPECT_EQ(edited(before + "last\n", edits), after + "last\n");
}

}  // namespace
}  // namespace hone
