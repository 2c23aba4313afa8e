// Steps without effect leave a recipe, with an evaluator that knows what each is worth.
#include "engine/search/finals/reduce_recipe.h"

#include <limits>
#include <sstream>

#include "engine/search/target/workers.h"
#include "tests/support/row_sums.h"

namespace hone {
namespace {

class ReduceRecipe : public RowSums {
 protected:
  Contender contender(const Recipe& recipe, double time_us) {
    const auto made = builder_->space().rewritten(recipe);
    EXPECT_TRUE(made) << made.error().message;
    Contender c;
    c.candidate.program_hash = made->hash;
    c.candidate.program = made->program;
    c.candidate.recipe = recipe;
    c.time_us = time_us;
    return c;
  }
  std::vector<CandidateRecord> reduced(const std::vector<Contender>& contenders, int wanted,
                                       const std::string& device = "emu:sm_90") {
    LocalTarget local(*DeviceSpec::parse(device), evaluator_, 2);
    const Target target = local.target();
    std::uint64_t next_id = 0;
    ReductionStage stage{target, *builder_, next_id, 7, target.device.modelled()};
    stage.most_evaluations = most_evaluations_;
    stage.given_up = [&] { return given_up_; };
    stage.report = [] {};
    stage.disproved = [&](const Evaluation& evaluation) {
      disproved_.push_back(evaluation.verdict);
    };
    stage.known = [&](const std::string& hash) -> std::optional<double> {
      const auto known = known_.find(hash);
      return known == known_.end() ? std::nullopt : std::optional(known->second);
    };
    stage.remake = [](const CandidateRecord& base, Recipe recipe, Rewritten made) {
      CandidateRecord candidate = base;
      candidate.recipe = std::move(recipe);
      candidate.program = std::move(made.program);
      candidate.program_hash = std::move(made.hash);
      return candidate;
    };
    return reduce_recipes(stage, contenders, wanted);
  }
  static std::string names(const CandidateRecord& candidate) {
    std::string text;
    for (const Step& step : candidate.recipe) text += (text.empty() ? "" : " ") + step.rewriter;
    return text;
  }

  std::map<std::string, double> known_;
  bool given_up_ = false;
  std::vector<Verdict> disproved_;
  std::int64_t most_evaluations_ = std::numeric_limits<std::int64_t>::max();
};

TEST_F(ReduceRecipe, AStepThatIsWorthNothingGoesAndTheOthersStay) {
  evaluator_.worth_ = {{"__restrict__", 10}, {"#pragma unroll", 0}};
  const auto left = reduced({contender(recipe_of({"unroll", "restrict-const"}), 1000)}, 5);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(names(left[0]), "restrict-const");
  EXPECT_FALSE(left[0].program.source.contains("#pragma unroll"))
      << "the shorter program is ranked";
}

// Which blocks are drawn changes a modelled time by less than two thousandths.
TEST_F(ReduceRecipe, AModelledStepMustWinMoreThanWhatIsDrawn) {
  for (const auto& [worth, left_over] :
       {std::pair{1.0, "restrict-const"}, std::pair{3.0, "unroll restrict-const"}}) {
    evaluator_.worth_ = {{"__restrict__", 10}, {"#pragma unroll", worth}};
    const auto left = reduced({contender(recipe_of({"unroll", "restrict-const"}), 1000)}, 5);
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(names(left[0]), left_over);
  }
}

TEST_F(ReduceRecipe, AMeasuredStepMustWinMoreThanTheNoise) {
  evaluator_.worth_ = {{"__restrict__", 100}, {"#pragma unroll", 2}};
  const auto left =
      reduced({contender(recipe_of({"unroll", "restrict-const"}), 1000)}, 5, "cuda:0");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(names(left[0]), "restrict-const");
}

TEST_F(ReduceRecipe, WhatBecomesOneProgramIsOneFinalistAndTheNextTakesItsPlace) {
  evaluator_.worth_ = {{"__restrict__", 10}, {"#pragma unroll", 0}, {"__launch_bounds__", 5}};
  const auto left = reduced({contender(recipe_of({"unroll", "restrict-const"}), 1005),
                             contender(recipe_of({"restrict-const"}), 1005),
                             contender(recipe_of({"launch-bounds", "unroll"}), 1010)},
                            2);
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(names(left[0]), "restrict-const");
  EXPECT_EQ(names(left[1]), "launch-bounds");
}

TEST_F(ReduceRecipe, TheSameMachineCodeIsTheSameProgramWhateverItsTime) {
  evaluator_.worth_ = {{"__restrict__", 10}, {"#pragma unroll", 0}};
  evaluator_.tells_code_ = true;
  const auto left = reduced({contender(recipe_of({"restrict-const", "unroll"}), 1000),
                             contender(recipe_of({"unroll", "restrict-const"}), 1000)},
                            5);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(names(left[0]), "restrict-const");
}

TEST_F(ReduceRecipe, ALaterStepThatNeedsAnEarlierKeepsIt) {
  Recipe recipe = recipe_of({"coarsen-threads"});
  recipe.push_back(unroll_of_a_new_loop(recipe));
  // What the last step writes that was not there before is all that is worth something.
  const std::string before_it = contender({recipe[0]}, 0).candidate.program.source;
  std::istringstream lines(contender(recipe, 0).candidate.program.source);
  for (std::string line; std::getline(lines, line);)
    if (line.contains("#pragma unroll") && !before_it.contains(line + "\n"))
      evaluator_.worth_ = {{line + "\n", 10}};
  ASSERT_EQ(evaluator_.worth_.size(), 1U);
  const auto left = reduced({contender(recipe, 1000)}, 5);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(names(left[0]), "coarsen-threads unroll");
}

TEST_F(ReduceRecipe, WhatTheSearchFoundMuchSlowerIsNotTriedAgain) {
  evaluator_.worth_ = {{"__restrict__", 100}, {"#pragma unroll", 100}};
  const Recipe recipe = recipe_of({"unroll", "restrict-const"});
  for (std::size_t i = 0; i < 2; ++i)
    known_[contender({recipe[i]}, 0).candidate.program_hash] = 1100;
  ASSERT_EQ(reduced({contender(recipe, 1000)}, 5).size(), 1U);
  EXPECT_EQ(evaluator_.stages().size(), 1U) << "the whole recipe alone";
}

TEST_F(ReduceRecipe, WhoGivesUpGetsWhatIsThere) {
  given_up_ = true;
  const Recipe recipe = recipe_of({"unroll", "restrict-const"});
  const auto left = reduced({contender(recipe, 1000)}, 5);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].recipe, recipe);
}

TEST_F(ReduceRecipe, AStepThatOnlyUndoesAnotherGoesWithIt) {
  const std::size_t loop = task_.reference.source.find("    for (int k");
  task_.reference.source.insert(loop, "#pragma unroll 2\n");
  builder_ = *RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), {}, {});
  evaluator_.worth_ = {{"__restrict__", 10}, {"#pragma unroll 2", 10}};
  Recipe recipe = recipe_of({"restrict-const", "unroll", "unroll"});
  recipe[1].params["factor"] = std::int64_t{8};
  recipe[2].params["factor"] = std::int64_t{2};
  // Without the 8 the last step would change nothing, so it is refused.
  const auto left = reduced({contender(recipe, 1000)}, 5);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(names(left[0]), "restrict-const");
}

TEST_F(ReduceRecipe, EvaluationsAreBoundedAndTheBestContenderIsFirst) {
  evaluator_.worth_ = {{"__restrict__", 0}, {"#pragma unroll", 0}, {"__launch_bounds__", 0}};
  const std::vector<Contender> contenders = {
      contender(recipe_of({"unroll", "restrict-const", "launch-bounds"}), 1000),
      contender(recipe_of({"bake-sizes", "cache-hints", "unroll"}), 1001)};
  (void)reduced(contenders, 2);
  const std::size_t without_bound = evaluator_.stages().size();
  std::size_t before = without_bound;
  for (const std::int64_t most : {0, 1, 2, 5}) {
    most_evaluations_ = most;
    const auto left = reduced(contenders, 2);
    EXPECT_EQ(evaluator_.stages().size() - before, static_cast<std::size_t>(most));
    before = evaluator_.stages().size();
    ASSERT_EQ(left.size(), 2U) << most;
    // One for each contender as it is; what is left is for the better one.
    EXPECT_EQ(left[0].recipe.size(), most < 5 ? 3U : 2U) << most;
    EXPECT_EQ(left[1].recipe.size(), 3U) << most;
  }
  EXPECT_GT(without_bound, 5U);
}

// What was measured by the end of a search, but not checked, may be wrong.
TEST_F(ReduceRecipe, OneOfTheFinalistsIsCheckedAndWhatTurnsOutWrongIsNone) {
  const auto unchecked = [&](std::initializer_list<const char*> names, double time_us) {
    Contender c = contender(recipe_of(names), time_us);
    c.checked = false;
    return c;
  };
  const std::vector<Contender> contenders = {
      unchecked({"unroll"}, 10), unchecked({"launch-bounds"}, 11),
      contender(recipe_of({"restrict-const"}), 900), contender(recipe_of({"bake-sizes"}), 901)};
  const auto left = reduced(contenders, 2);
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(names(left[0]), "unroll");
  EXPECT_EQ(names(left[1]), "restrict-const");
  EXPECT_EQ(names(reduced(contenders, 1).at(0)), "unroll") << "there is room for one";
  EXPECT_EQ(reduced(contenders, 3).size(), 3U);
  EXPECT_TRUE(disproved_.empty());

  evaluator_.wrong_with_ = "#pragma unroll";
  const auto right = reduced(
      {unchecked({"unroll", "restrict-const"}, 10), contender(recipe_of({"bake-sizes"}), 900)}, 1);
  ASSERT_EQ(right.size(), 1U);
  EXPECT_EQ(names(right[0]), "bake-sizes");
  EXPECT_EQ(disproved_, std::vector{Verdict::kWrongResult});
}

TEST(EvaluationsToReduce, AQuarterOfTheBudgetButOneForEachStep) {
  std::vector<Contender> contenders(3);
  for (Contender& contender : contenders) contender.candidate.recipe.resize(4);
  EXPECT_EQ(evaluations_to_reduce(1000, contenders, 2), 250);
  EXPECT_EQ(evaluations_to_reduce(20, contenders, 2), 10) << "two contenders, 4 steps each";
  EXPECT_EQ(evaluations_to_reduce(20, contenders, 5), 15);
  EXPECT_EQ(evaluations_to_reduce(0, contenders, 2), std::numeric_limits<std::int64_t>::max())
      << "no such budget";
}

TEST(Contenders, EachMachineCodeOnceByItsShortestRecipe) {
  const auto made = [](char hash, double time_us, std::size_t steps, const std::string& code,
                       int registers = 32) {
    Contender c;
    c.candidate.program_hash = std::string(32, hash);
    c.candidate.recipe.resize(steps);
    c.time_us = time_us;
    c.code_hash = code;
    c.registers = registers;
    return c;
  };
  Contenders best;
  EXPECT_TRUE(best.add(made('a', 10, 3, "x")));
  EXPECT_FALSE(best.add(made('b', 10, 4, "x"))) << "the same with more steps";
  EXPECT_TRUE(best.add(made('c', 10, 1, "x")));
  EXPECT_FALSE(best.add(made('d', 10, 2, "y")));
  EXPECT_FALSE(best.add(made('e', 10, 1, "z", 40)));
  EXPECT_FALSE(best.add(made('f', 12, 0, "")));
  EXPECT_FALSE(best.add(made('g', 12, 0, ""))) << "of no known code: another program";
  std::string order;
  for (const Contender& c : best.ranked()) order += c.candidate.program_hash[0];
  EXPECT_EQ(order, "cedfg");
}

}  // namespace
}  // namespace hone
