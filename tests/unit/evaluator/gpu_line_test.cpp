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
  line.join({.modelled = 0.9, .run_s = 0.009, .order = 1}, kBegin);
  line.join({.modelled = 0.8, .run_s = 0.008, .order = 2}, kBegin);
  line.join({.modelled = 0.1, .run_s = 0.001, .order = 3}, kBegin);
  line.join({.modelled = 0.2, .run_s = 0.002, .order = 4}, kBegin);
  EXPECT_EQ(served(line, kBegin), (std::vector<std::uint64_t>{2, 0, 3, 1}));
  EXPECT_EQ(line.next(kBegin), std::nullopt);
}

TEST(GpuLine, ServesWhomNobodyModelledFirst) {
  GpuLine line;
  line.join({.modelled = 0.1, .run_s = 0.001, .order = 1}, kBegin);
  line.join({.modelled = 0, .run_s = 0, .order = 2}, kBegin);
  EXPECT_EQ(line.next(kBegin), 1U);
}

TEST(GpuLine, ALongRunWaitsAFifthOfItsTimeForOthersToCome) {
  GpuLine line;
  line.join({.modelled = 0.9, .run_s = 1, .order = 1}, kBegin);
  EXPECT_EQ(line.next(kBegin + milliseconds(199)), std::nullopt);
  const auto quick =
      line.join({.modelled = 0.03, .run_s = 0.03, .order = 2}, kBegin + milliseconds(150));
  EXPECT_EQ(line.next(kBegin + milliseconds(150)), quick);
  line.leave(quick);
  EXPECT_EQ(line.next(kBegin + milliseconds(200)), 0U);
  EXPECT_EQ(line.ready(0), kBegin + milliseconds(200));
}

TEST(GpuLine, ALongRunThatIsFarSlowerHasNoTurnWhileAnotherWaits) {
  GpuLine line;
  line.join({.modelled = 0.9, .run_s = 1, .order = 1}, kBegin);
  line.join({.modelled = 0.8, .run_s = 0.9, .order = 2}, kBegin);
  line.join({.modelled = 0.03, .run_s = 0.03, .order = 3}, kBegin);
  line.join({.modelled = 0.04, .run_s = 0.04, .order = 4}, kBegin);
  line.join({.modelled = 0.05, .run_s = 0.05, .order = 5}, kBegin);
  // The second turn is that of order 3 or 4, not of 1; those of 1 and 2 come, as nobody is faster
  // then.
  EXPECT_EQ(served(line, kBegin + milliseconds(200)), (std::vector<std::uint64_t>{2, 3, 4, 0, 1}));
}

TEST(GpuLine, AShortRunIsServedInItsTurnHoweverSlowItIs) {
  GpuLine line;
  line.join({.modelled = 9, .run_s = 0.1, .order = 1}, kBegin);
  line.join({.modelled = 0.1, .run_s = 0.001, .order = 2}, kBegin);
  line.join({.modelled = 0.2, .run_s = 0.002, .order = 3}, kBegin);
  EXPECT_EQ(served(line, kBegin), (std::vector<std::uint64_t>{1, 0, 2}));
}

}  // namespace
}  // namespace hone
