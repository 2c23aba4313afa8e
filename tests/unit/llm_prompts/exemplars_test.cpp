#include "rewriters/llm/prompt/exemplars.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace hone::llm {
namespace {

TEST(Exemplars, AreSpreadFromSlowToFast) {
  std::vector<double> times;
  for (int i = 0; i < 100; ++i) times.push_back(std::exp(i * 0.05));  // 1 to 141 us
  const auto chosen = choose_exemplars(times, 5, 7);
  ASSERT_EQ(chosen.size(), 5U);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    EXPECT_GE(chosen[i], 80 - 20 * i);  // one of each fifth
    EXPECT_LT(chosen[i], 100 - 20 * i + 1);
  }
}

TEST(Exemplars, DependOnTheSeedAlone) {
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) times.push_back(10 + i % 37 + i * 0.1);
  EXPECT_EQ(choose_exemplars(times, 4, 1), choose_exemplars(times, 4, 1));
  std::set<std::vector<std::size_t>> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) seen.insert(choose_exemplars(times, 4, seed));
  EXPECT_GT(seen.size(), 10U);
}

// Regression: one slow reference and many fast candidates fell into two of the buckets.
TEST(Exemplars, TellApartWhatGathersNearTheBest) {
  const std::vector<double> times = {1000, 10, 11, 12, 13, 14, 15};
  const auto chosen = choose_exemplars(times, 4, 3);
  ASSERT_EQ(chosen.size(), 4U);
  EXPECT_EQ(chosen.front(), 0U);
  EXPECT_LE(times[chosen.back()], 11);
  for (std::size_t i = 1; i < chosen.size(); ++i) EXPECT_LT(times[chosen[i]], times[chosen[i - 1]]);
}

TEST(Exemplars, EqualTimesAreOneBucket) {
  EXPECT_EQ(choose_exemplars({5, 5, 5, 5}, 3, 1).size(), 1U);
}

TEST(Exemplars, LeaveOutWhatHasNoTime) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(choose_exemplars({0, -1, nan, infinite}, 3, 1).empty());
  EXPECT_EQ(choose_exemplars({0, 7, nan}, 3, 1), std::vector<std::size_t>{1});
  EXPECT_TRUE(choose_exemplars({}, 3, 1).empty());
  EXPECT_TRUE(choose_exemplars({1, 2}, 0, 1).empty());
  EXPECT_EQ(choose_exemplars({9, 2}, 1, 1), std::vector<std::size_t>{1});  // the fastest
  EXPECT_EQ(choose_exemplars({9, 2}, 5, 1), (std::vector<std::size_t>{0, 1}));
}

}  // namespace
}  // namespace hone::llm
