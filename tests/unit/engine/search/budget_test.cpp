#include "engine/search/budget.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Budget, ReadsTimesAndCounts) {
  EXPECT_DOUBLE_EQ(Budget::parse("60s")->seconds, 60);
  EXPECT_DOUBLE_EQ(Budget::parse("1.5m")->seconds, 90);
  EXPECT_DOUBLE_EQ(Budget::parse("1h")->seconds, 3600);
  EXPECT_EQ(Budget::parse("200")->evaluations, 200);
  EXPECT_EQ(Budget::parse("200")->seconds, 0);
}

TEST(Budget, RefusesWhatIsNeither) {
  for (const char* text :
       {"", "s", "-1", "0", "0s", "1.5", "60x", "sixty", "1e99", "nan", "60 s"}) {
    const auto budget = Budget::parse(text);
    ASSERT_FALSE(budget) << text;
    EXPECT_EQ(budget.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(budget.error().message.find("such as 60s"), std::string::npos) << text;
  }
}

TEST(Budget, ItsTextIsReadAsTheSame) {
  for (const char* text : {"60s", "0.5s", "200"}) EXPECT_EQ(Budget::parse(text)->text(), text);
  EXPECT_EQ(Budget::parse("1.5m")->text(), "90s");
}

}  // namespace
}  // namespace hone
