#include "evaluator/pool/gpu_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace hone {
namespace {

using std::chrono::milliseconds;

const GpuLine::Clock::time_point kBegin{};

/// The order in which all that wait are served from `when` on, by their numbers.
std::vector<std::uint64_t> served(GpuLine& line, GpuLine::Clock::time_point when) {
  std::vector<std::uint64_t> out;
  while (const auto next = line.next(when)) {
    out.push_back(*next);
    line.take(*next);
  }
  return out;
}

TEST(GpuLine, ServesTheFastestByTheModelAndTheFirstThatWasAskedForInTurns) {
  GpuLine line;
  line.join({.modelled = 0.9, .order = 1, .run_s = 0.009}, kBegin);
  line.join({.modelled = 0.8, .order = 2, .run_s = 0.008}, kBegin);
  line.join({.modelled = 0.1, .order = 3, .run_s = 0.001}, kBegin);
  line.join({.modelled = 0.2, .order = 4, .run_s = 0.002}, kBegin);
  EXPECT_EQ(served(line, kBegin), (std::vector<std::uint64_t>{2, 0, 3, 1}));
  EXPECT_EQ(line.next(kBegin), std::nullopt);
}

TEST(GpuLine, ServesWhomNobodyModelledFirst) {
  GpuLine line;
  line.join({.modelled = 0.1, .order = 1, .run_s = 0.001}, kBegin);
  line.join({.modelled = 0, .order = 2, .run_s = 0}, kBegin);
  EXPECT_EQ(line.next(kBegin), 1U);
}

TEST(GpuLine, ALongRunWaitsAFifthOfItsTimeForOthersToCome) {
  GpuLine line;
  line.join({.modelled = 0.9, .order = 1, .run_s = 1}, kBegin);
  EXPECT_EQ(line.next(kBegin + milliseconds(199)), std::nullopt);
  const auto quick =
      line.join({.modelled = 0.03, .order = 2, .run_s = 0.03}, kBegin + milliseconds(150));
  EXPECT_EQ(line.next(kBegin + milliseconds(150)), quick);
  line.leave(quick);
  EXPECT_EQ(line.next(kBegin + milliseconds(200)), 0U);
  EXPECT_EQ(line.ready(0), kBegin + milliseconds(200));
}

TEST(GpuLine, ALongRunThatIsFarSlowerHasNoTurnWhileAnotherWaits) {
  GpuLine line;
  line.join({.modelled = 0.9, .order = 1, .run_s = 1}, kBegin);
  line.join({.modelled = 0.8, .order = 2, .run_s = 0.9}, kBegin);
  line.join({.modelled = 0.03, .order = 3, .run_s = 0.03}, kBegin);
  line.join({.modelled = 0.04, .order = 4, .run_s = 0.04}, kBegin);
  line.join({.modelled = 0.05, .order = 5, .run_s = 0.05}, kBegin);
  // The second turn is that of order 3 or 4, not of 1; those of 1 and 2 come, as nobody is faster
  // then.
  EXPECT_EQ(served(line, kBegin + milliseconds(200)), (std::vector<std::uint64_t>{2, 3, 4, 0, 1}));
}

TEST(GpuLine, ALongRunThatHasWaitedLongHasItsTurn) {
  GpuLine line;
  const auto slow = line.join({.modelled = 0.9, .order = 1, .run_s = 1}, kBegin);
  line.take(line.join({}, kBegin));  // an odd turn comes next
  line.join({.modelled = 0.03, .order = 2, .run_s = 0.03}, kBegin + milliseconds(4000));
  EXPECT_NE(line.next(kBegin + milliseconds(4999)), slow);
  EXPECT_EQ(line.next(kBegin + milliseconds(5001)), slow);
}

TEST(GpuLine, OnlyRunsOfOneReferenceAreCompared) {
  GpuLine line;
  const auto slow =
      line.join({.modelled = 0.9, .order = 1, .run_s = 0.9, .reference = "of one"}, kBegin);
  line.take(line.join({}, kBegin));
  line.join({.modelled = 0.2, .order = 2, .run_s = 0.001, .reference = "of another"}, kBegin);
  EXPECT_EQ(line.next(kBegin + milliseconds(200)), slow);
}

TEST(GpuLine, WhoIsNotReadyKeepsNobodyFromItsTurn) {
  GpuLine line;
  const auto ready = line.join({.modelled = 9, .order = 1, .run_s = 90}, kBegin);
  line.take(line.join({}, kBegin));
  line.join({.modelled = 2.9, .order = 2, .run_s = 29}, kBegin + milliseconds(490));
  EXPECT_EQ(line.next(kBegin + milliseconds(500)), ready);
}

TEST(GpuLine, NobodyIsLetPastWhereMoreGpusAreFree) {
  GpuLine line;
  const auto slow = line.join({.modelled = 0.9, .order = 1, .run_s = 1}, kBegin, true);
  EXPECT_EQ(line.next(kBegin), slow);
}

TEST(GpuLine, AShortRunIsServedInItsTurnHoweverSlowItIs) {
  GpuLine line;
  line.join({.modelled = 9, .order = 1, .run_s = 0.1}, kBegin);
  line.join({.modelled = 0.1, .order = 2, .run_s = 0.001}, kBegin);
  line.join({.modelled = 0.2, .order = 3, .run_s = 0.002}, kBegin);
  EXPECT_EQ(served(line, kBegin), (std::vector<std::uint64_t>{1, 0, 2}));
}

}  // namespace
}  // namespace hone
