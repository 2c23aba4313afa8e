// What a step contributes, with an evaluator that knows what it should cost.
#include "engine/search/single/ablation.h"

#include "tests/support/row_sums.h"

namespace hone {
namespace {

class AblationTest : public RowSums {
 protected:
  AblationTest() {
    evaluator_.base_us_ = 10;
    evaluator_.worth_ = {{"#pragma unroll", 1}, {"__restrict__", 2}};
  }
  Result<Ablation> ablated(const Recipe& recipe, const std::string& device) {
    return ablate(task_, recipe, *DeviceSpec::parse(device), evaluator_, rewriting_);
  }
};

TEST_F(AblationTest, EachStepIsLeftOutOnce) {
  const auto ablation = ablated(recipe_of({"unroll", "restrict-const"}), "emu:sm_90");
  ASSERT_TRUE(ablation) << ablation.error().message;
  EXPECT_EQ(ablation->whole.measurement.time_us, 10);
  ASSERT_EQ(ablation->steps.size(), 2U);
  EXPECT_EQ(ablation->steps[0].without.measurement.time_us, 11);
  EXPECT_EQ(ablation->steps[1].without.measurement.time_us, 12);
  EXPECT_TRUE(ablation->steps[0].with_it.empty());
  EXPECT_EQ(evaluator_.stages(), std::vector<Stage>(3, Stage::kQuick));
}

TEST_F(AblationTest, OnAGpuInTheFinalStage) {
  ASSERT_TRUE(ablated(recipe_of({"unroll"}), "cuda:0"));
  EXPECT_EQ(evaluator_.stages(), std::vector<Stage>(2, Stage::kFinal));
}

TEST_F(AblationTest, WhatNeedsAStepGoesWithIt) {
  Recipe recipe = recipe_of({"coarsen-threads", "restrict-const"});
  recipe.push_back(unroll_of_a_new_loop(recipe));
  const auto ablation = ablated(recipe, "emu:sm_90");
  ASSERT_TRUE(ablation) << ablation.error().message;
  EXPECT_EQ(ablation->steps[0].with_it, std::vector<std::size_t>{2});
  EXPECT_EQ(ablation->steps[0].without.measurement.time_us, 11);  // restrict-const is still there
  EXPECT_TRUE(ablation->steps[1].with_it.empty());
}

TEST_F(AblationTest, NothingToLeaveOut) {
  const auto ablation = ablated({}, "emu:sm_90");
  ASSERT_FALSE(ablation);
  EXPECT_EQ(ablation.error().code, ErrorCode::kInvalidInput);
}

/// As in a database that was written when such steps were still made.
TEST_F(AblationTest, ARecipeThatDoesNotReplayIsOneError) {
  Recipe recipe = recipe_of({"unroll", "restrict-const"});
  recipe.insert(recipe.begin() + 1, recipe.front());
  const auto ablation = ablated(recipe, "emu:sm_90");
  ASSERT_FALSE(ablation);
  EXPECT_EQ(ablation.error().code, ErrorCode::kRefused);
  EXPECT_EQ(ablation.error().message,
            "the recipe does not replay: " + to_string(recipe[1]) + ": the step changes nothing");
  EXPECT_TRUE(evaluator_.stages().empty()) << "nothing is measured in vain";
}

}  // namespace
}  // namespace hone
