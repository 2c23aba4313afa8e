#include "engine/service/text_diff.h"

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

}  // namespace
}  // namespace hone
