// Sixty random kernels; random_nests runs more of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "candidates/task_reader.h"
#include "tests/lift/harness.h"
#include "tests/lift/random_nests/generator.h"

namespace hone::lift_tests {
namespace {

TEST(RandomNests, AreRightOrRefused) {
  int lifted = 0;
  std::map<std::string, int> refusals;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::string text = random_task(seed);
    const auto task = parse_task(text, fmt::format("random_{}.cu", seed));
    ASSERT_TRUE(task) << task.error().message << "\n" << text;
    const Outcome outcome = check(*task, {});
    lifted += outcome.lifted() ? 1 : 0;
    if (!outcome.lifted()) ++refusals[outcome.refusals[0]];
    for (const std::string& unrun : outcome.unrun) ADD_FAILURE() << unrun << "\n" << text;
    for (const std::string& wrong : outcome.wrong) ADD_FAILURE() << wrong << "\n" << text;
  }
  std::cout << fmt::format("random nests: {} of 60 lifted\n", lifted);
  for (const auto& [reason, times] : refusals)
    std::cout << fmt::format("  refused {} times: {}\n", times, reason);
  EXPECT_GE(lifted, 50);
}

TEST(RandomNests, AreTheSameForTheSameSeed) {
  EXPECT_EQ(random_task(7), random_task(7));
  EXPECT_NE(random_task(7), random_task(8));
}

}  // namespace
}  // namespace hone::lift_tests
