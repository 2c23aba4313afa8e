// Variable-neighbourhood search with a surrogate, on the recipes of a small task.
#include "engine/search/strategy/vndx_strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/requests/requests.h"
#include "tests/unit/engine/fake_evaluator.h"

namespace hone {
namespace {

class Vndx : public testing::Test {
 protected:
  void SetUp() override {
    auto task = parse_task(test::kScaleTask, "scale.cu");
    ASSERT_TRUE(task) << task.error().message;
    task_ = *task;
    auto builder = RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), {}, {});
    ASSERT_TRUE(builder) << builder.error().message;
    builder_ = std::move(*builder);
  }
  [[nodiscard]] std::unique_ptr<VndxStrategy> strategy(std::uint64_t seed = 1) {
    return std::make_unique<VndxStrategy>(builder_->space(), seed, kReference_us);
  }
  static Outcome outcome(const Recipe& recipe, double time_us) {
    return {.recipe = recipe, .verdict = Verdict::kOk, .time_us = time_us};
  }
  /// A landscape with one valley: BLOCK = 128, where a program takes 0.8 of the reference's time.
  static double time_of(const Recipe& recipe) {
    double time_us = kReference_us;
    for (const Step& step : recipe) {
      if (!step.params.contains("BLOCK")) continue;
      const double octaves = std::log2(static_cast<double>(step.int_param("BLOCK", 32)) / 128);
      time_us *= 0.8 + 0.1 * std::fabs(octaves);
    }
    return time_us;
  }

  static constexpr double kReference_us = 100;
  Task task_;
  LocalRewriting rewriting_;
  std::unique_ptr<RequestBuilder> builder_;
};

TEST_F(Vndx, IsInTheListOfStrategies) {
  const StrategyInfo* info = find_strategy("vndx");
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->make(builder_->space(), 1, kReference_us)->name(), "vndx");
}

TEST_F(Vndx, DistanceCountsStepsAndValuesThatDiffer) {
  const Step a{.rewriter = "unroll", .site = "k", .params = {{"factor", std::int64_t{2}}}};
  Step b = a;
  b.params["factor"] = std::int64_t{4};
  const Step other{.rewriter = "vectorise", .site = "k"};
  EXPECT_EQ(VndxStrategy::distance({a}, {a}), 0U);
  EXPECT_EQ(VndxStrategy::distance({a}, {b}), 2U);
  EXPECT_EQ(VndxStrategy::distance({a}, {a, other}), 1U);
  EXPECT_EQ(VndxStrategy::distance({}, {a}), 2U);
  EXPECT_EQ(VndxStrategy::distance({a, other}, {other, a}), 0U) << "the order does not count";
}

TEST_F(Vndx, TheSameSeedAsksTheSame) {
  const auto first = strategy(7), second = strategy(7), other = strategy(8);
  bool differs = false;
  for (int ask = 0; ask < 60; ++ask) {
    const Recipe recipe = first->ask();
    EXPECT_EQ(recipe, second->ask());
    const Recipe elsewhere = other->ask();
    differs |= recipe != elsewhere;
    first->tell(outcome(recipe, time_of(recipe)));
    second->tell(outcome(recipe, time_of(recipe)));
    other->tell(outcome(elsewhere, time_of(elsewhere)));
  }
  EXPECT_TRUE(differs);
}

TEST_F(Vndx, OpensWithEverySiteAndAsksForWhatReplaysAndIsNew) {
  const auto search = strategy();
  const std::size_t sites = builder_->space().proposals({})->size();
  std::set<std::string> asked;
  for (std::size_t ask = 0; ask < sites + 40; ++ask) {
    const Recipe recipe = search->ask();
    if (ask < sites) {
      EXPECT_EQ(recipe.size(), 1U);
    }
    EXPECT_TRUE(builder_->space().replays(recipe)) << recipe_key(recipe);
    asked.insert(recipe_key(recipe));
    search->tell(outcome(recipe, time_of(recipe)));
  }
  EXPECT_GT(asked.size(), sites + 20) << "a pool without anything new is rare";
}

TEST_F(Vndx, FindsTheValleyAndFailuresDoNotStopIt) {
  const auto search = strategy(3);
  double best_us = kReference_us;
  for (int ask = 0; ask < 80; ++ask) {
    const Recipe recipe = search->ask();
    if (ask % 4 == 3) {
      search->tell({.recipe = recipe, .verdict = Verdict::kWrongResult});
      continue;
    }
    best_us = std::min(best_us, time_of(recipe));
    search->tell(outcome(recipe, time_of(recipe)));
  }
  EXPECT_LT(best_us, 0.81 * kReference_us);
}

TEST_F(Vndx, AStrangersProgramIsTaken) {
  const auto search = strategy();
  Outcome stranger = outcome(search->ask(), 10);
  stranger.stranger = true;
  search->tell(stranger);
  EXPECT_FALSE(search->ask().empty());
}

}  // namespace
}  // namespace hone
