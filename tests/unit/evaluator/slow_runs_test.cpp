#include "evaluator/slow_runs.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(SlowRuns, AreHopelessOnceSomethingIsMuchFaster) {
  SlowRuns runs;
  EXPECT_FALSE(runs.is_hopeless("r", 900e3)) << "nothing is known";
  runs.learn("r", "r", 1000e3, 0);
  EXPECT_FALSE(runs.is_hopeless("r", 9000e3)) << "the reference was not measured";
  runs.learn("r", "r", 0, 700e3);
  EXPECT_FALSE(runs.is_hopeless("r", 900e3));
  EXPECT_TRUE(runs.is_hopeless("r", 4500e3)) << "much slower than the reference";
  runs.learn("r", "a", 12e3, 13e3);
  EXPECT_TRUE(runs.is_hopeless("r", 900e3));
  EXPECT_FALSE(runs.is_hopeless("other", 900e3));
}

TEST(SlowRuns, WhatHoldsTheGpuForAShortTimeIsMeasured) {
  SlowRuns runs;
  runs.learn("r", "r", 1000, 1000);
  EXPECT_FALSE(runs.is_hopeless("r", 49e3));
  EXPECT_TRUE(runs.is_hopeless("r", 51e3));
}

TEST(SlowRuns, TheModelMayErrInOneDirection) {
  SlowRuns runs;
  runs.learn("r", "r", 100e3, 400e3);
  runs.learn("r", "a", 10e3, 40e3);
  EXPECT_FALSE(runs.is_hopeless("r", 12e3)) << "48 ms";
  EXPECT_TRUE(runs.is_hopeless("r", 45e3)) << "180 ms, more than four times 40 ms";
}

}  // namespace
}  // namespace hone
