// While nobody can store anything, a budget in seconds does not run.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/rewriting/local_rewriting.h"
#include "engine/rewriting/watch.h"
#include "engine/search/phases/clock.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

TEST(Paused, TheClockLeavesItOut) {
  double paused_s = 5;  // before it began: nobody's
  SearchOptions options;
  options.spent_s = 10;
  options.paused_s = [&] { return paused_s; };
  search::SearchClock clock(options, true);
  EXPECT_GE(clock.elapsed_s(), 10);
  EXPECT_LT(clock.elapsed_s(), 100);
  paused_s += 1000;
  EXPECT_LT(clock.elapsed_s(), -800);
  clock.restart();
  EXPECT_GE(clock.elapsed_s(), 10);
}

TEST(Paused, AWatchWaitsLonger) {
  LocalRewriting rewriting;
  std::atomic<double> paused_s = 0;
  paused_s = 1000;
  {
    const RewritingWatch watch(rewriting, nullptr, 0.05, [&] { return paused_s.load(); });
    for (int i = 0; i < 200 && !watch.fired(); ++i) std::this_thread::sleep_for(milliseconds(20));
    EXPECT_TRUE(watch.fired());
  }
  std::atomic<int> asked = 0;
  const RewritingWatch watch(rewriting, nullptr, 0.05, [&] { return ++asked == 1 ? 0.0 : 1000.0; });
  for (int i = 0; i < 500 && asked < 5; ++i) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_GE(asked, 5);
  EXPECT_FALSE(watch.fired());
}

}  // namespace
}  // namespace hone
