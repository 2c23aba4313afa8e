#include "engine/search/prescreen.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone {
namespace {

/// The first threshold that is not one of those that let everything pass.
double threshold(Prescreen& p, double best_us) {
  for (int i = 0; i < 100; ++i)
    if (const double t = p.threshold_us(best_us); t > 0) return t;
  return 0;
}

TEST(Prescreen, MeasuresEverythingUntilItHasSeenEnough) {
  Prescreen p(1);
  for (int i = 0; i < 7; ++i) p.learn(10, 10);
  EXPECT_EQ(threshold(p, 10), 0);
  p.learn(10, 10);
  EXPECT_GT(threshold(p, 10), 0);
}

TEST(Prescreen, LearnsTheModelsBias) {
  Prescreen p(1);
  for (int i = 1; i <= 20; ++i) p.learn(10.0 + i, 2 * (10.0 + i));  // the model is half the truth
  EXPECT_NEAR(p.expected_us(30), 60, 1e-9);
  // The best takes 22: what is modelled at 11 or a little more may beat it.
  EXPECT_GT(threshold(p, 22), 11);
  EXPECT_LT(threshold(p, 22), 11 * 1.1);
}

TEST(Prescreen, AModelThatErrsIsHardlyListenedTo) {
  Prescreen good(1);
  Prescreen bad(1);
  for (int i = 1; i <= 40; ++i) {
    good.learn(10, i % 2 ? 10.1 : 9.9);
    bad.learn(10, i % 2 ? 25 : 9);
  }
  EXPECT_LT(threshold(good, 10), 11);
  EXPECT_GT(threshold(bad, 10), 1.5 * threshold(good, 10));
}

TEST(Prescreen, FarAwayCandidatesDoNotSpoilTheTrust) {
  Prescreen p(1);
  for (int i = 0; i < 30; ++i) p.learn(10, 10);
  for (int i = 0; i < 100; ++i) p.learn(100, 1000 + 10 * i);  // slow ones, badly modelled
  EXPECT_LT(threshold(p, 10), 11);
}

TEST(Prescreen, KeepsAShareForWhatTheModelIsWrongAbout) {
  Prescreen p(1);
  for (int i = 0; i < 20; ++i) p.learn(10, 10);
  int free = 0;
  for (int i = 0; i < 1000; ++i) free += p.threshold_us(10) == 0;
  EXPECT_GT(free, 60);
  EXPECT_LT(free, 150);
}

TEST(Prescreen, IgnoresWhatIsNoTime) {
  Prescreen p(1);
  for (int i = 0; i < 20; ++i) p.learn(0, 10);
  EXPECT_EQ(threshold(p, 10), 0);
}

}  // namespace
}  // namespace hone
