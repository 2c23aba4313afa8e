#include "engine/search/phases/flight_limit.h"

#include <gtest/gtest.h>

namespace hone::search {
namespace {

/// A GPU that takes `measure_s` for each, with so many before it as are in flight and not prepared.
void run(FlightLimit& limit, int count, double prepare_s, double measure_s) {
  for (int i = 0; i < count; ++i) {
    const double preparing = prepare_s / measure_s;
    const double ahead = static_cast<double>(limit.now()) - preparing - 1;
    limit.evaluated({.compile = prepare_s, .wait = ahead * measure_s, .measure = measure_s});
  }
}

TEST(FlightLimit, IsSmallWhereEachHoldsTheGpuForLong) {
  FlightLimit limit(80);
  EXPECT_EQ(limit.now(), 80);
  run(limit, 6, 0.15, 0.23);
  EXPECT_LE(limit.now(), 8);
  run(limit, 100, 0.15, 0.23);
  EXPECT_LE(limit.now(), 12);
  EXPECT_GE(limit.now(), 4);
}

TEST(FlightLimit, HoldsMoreForMoreGpus) {
  FlightLimit one(320), four(320, 4);
  // What waits is shared: four GPUs take four at a time.
  for (int i = 0; i < 6; ++i) {
    one.evaluated({.compile = 0.5, .measure = 0.1});
    four.evaluated({.compile = 0.5, .measure = 0.1});
  }
  EXPECT_EQ(four.now(), 4 * one.now());
}

TEST(FlightLimit, IsLargeWhereCompilersAreWaitedFor) {
  FlightLimit limit(80);
  for (int i = 0; i < 100; ++i) limit.evaluated({.compile = 3, .measure = 0.02});
  EXPECT_EQ(limit.now(), 80);
}

TEST(FlightLimit, FollowsWhatIsMeasured) {
  FlightLimit limit(80);
  run(limit, 6, 0.15, 0.23);
  const auto few = limit.now();
  run(limit, 200, 1, 0.02);
  EXPECT_GT(limit.now(), 3 * few);
  run(limit, 200, 0.15, 0.5);
  EXPECT_LT(limit.now(), 16);
}

TEST(FlightLimit, SaysNothingOfWhatNoGpuSaw) {
  FlightLimit limit(40);
  for (int i = 0; i < 50; ++i) limit.evaluated({.compile = 0.1, .check = 0.1});
  EXPECT_EQ(limit.now(), 40);
}

}  // namespace
}  // namespace hone::search
