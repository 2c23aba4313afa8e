// Which of several draws are sent.
#include "engine/search/ranking/ranked_strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/requests/requests.h"
#include "rewriters/llm/model_steps.h"
#include "tests/unit/engine/fake_evaluator.h"

namespace hone {
namespace {

/// Asks for each in turn.
class InTurn final : public Strategy {
 public:
  InTurn(std::vector<Recipe> recipes, std::size_t pioneers)
      : recipes_(std::move(recipes)), pioneers_(pioneers) {}
  [[nodiscard]] std::string_view name() const override { return "in turn"; }
  Recipe ask() override { return recipes_[asked++ % recipes_.size()]; }
  void tell(const Outcome&) override { ++told; }
  [[nodiscard]] std::size_t pioneers() const override { return pioneers_; }
  std::size_t asked = 0, told = 0;

 private:
  const std::vector<Recipe> recipes_;
  const std::size_t pioneers_;
};

class Ranked : public testing::Test {
 protected:
  void SetUp() override {
    auto task = parse_task(test::kScaleTask, "scale.cu");
    ASSERT_TRUE(task) << task.error().message;
    task_ = *task;
    auto builder = RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), {}, {});
    ASSERT_TRUE(builder) << builder.error().message;
    builder_ = std::move(*builder);
    for (const Proposal& proposal : *builder_->space().proposals({}))
      if (proposal.rewriter == "tunables")
        for (std::size_t i = 0; i < 64; ++i)
          recipes_.push_back({proposal.step({5 * i % 8, i / 8})});
    std::erase_if(recipes_, [&](const Recipe& one) { return !builder_->space().replays(one); });
    ASSERT_GE(recipes_.size(), 60U);
  }

  [[nodiscard]] double threads_of(const Recipe& recipe) const {
    const auto program = instantiate(builder_->space().program(recipe).value(), task_.sizes);
    return static_cast<double>(program->launches[0].block[0]);
  }
  /// One that predicts the fewer threads of a block, the faster: a step down at each power of two.
  static std::shared_ptr<const ranking::TreeModel> prefers_few() {
    const auto& names = ranking::feature_names();
    const auto place = std::ranges::find(names, "threads") - names.begin();
    std::vector<ranking::Tree> trees;
    for (int octave = 1; octave < 11; ++octave)
      trees.push_back({{static_cast<std::int32_t>(place), octave - 0.5F, 1, 2, false},
                       {-1, 0, 0, 0, false},
                       {-1, 1, 0, 0, false}});
    return std::make_shared<const ranking::TreeModel>(std::move(trees), 0);
  }
  std::unique_ptr<RankedStrategy> ranked(std::size_t pioneers = 0, std::uint64_t seed = 1) {
    auto rest = std::make_unique<InTurn>(recipes_, pioneers);
    rest_ = rest.get();
    auto ranker = ranking::Ranker::make(prefers_few(), builder_->space().context(), rewriting_);
    return std::make_unique<RankedStrategy>(std::move(rest), std::move(ranker), builder_->space(),
                                            seed);
  }
  static Outcome outcome(const Recipe& recipe, double time_us) {
    return {.recipe = recipe, .verdict = Verdict::kOk, .time_us = time_us};
  }

  Task task_;
  LocalRewriting rewriting_;
  std::unique_ptr<RequestBuilder> builder_;
  std::vector<Recipe> recipes_;
  InTurn* rest_ = nullptr;
};

TEST_F(Ranked, SendsTheBestOfTheDraws) {
  constexpr int kSeeds = 40;
  int best = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto strategy = ranked(0, seed);
    const double sent = threads_of(strategy->ask());
    double least = 1e9;
    for (std::size_t i = 0; i < rest_->asked; ++i) least = std::min(least, threads_of(recipes_[i]));
    if (sent == least && rest_->asked == RankedStrategy::kDraws) ++best;
  }
  // But for the turns that are left to the other strategy.
  EXPECT_NEAR(best, kSeeds * (1 - RankedStrategy::kUnranked), 8);
}

TEST_F(Ranked, TheSameSeedSendsTheSame) {
  const auto first = ranked(3, 5), second = ranked(3, 5);
  for (int i = 0; i < 30; ++i) {
    const Recipe recipe = first->ask();
    EXPECT_EQ(recipe, second->ask());
    first->tell(outcome(recipe, threads_of(recipe)));
    second->tell(outcome(recipe, threads_of(recipe)));
  }
}

TEST_F(Ranked, NoFirstRecipeIsLost) {
  for (const std::size_t count : {recipes_.size(), recipes_.size() / 2}) {
    const auto strategy = ranked(count);
    std::map<std::string, int> sent;
    for (std::size_t i = 0; i < count; ++i) ++sent[recipe_key(strategy->ask())];
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(sent[recipe_key(recipes_[i])], 1) << i;
  }
}

TEST_F(Ranked, WhatIsDrawnTwiceIsSentOnce) {
  const auto strategy = ranked();
  std::map<std::string, int> sent;
  for (int i = 0; i < 30; ++i) ++sent[recipe_key(strategy->ask())];
  EXPECT_GT(rest_->asked, recipes_.size());
  for (const auto& [key, count] : sent) EXPECT_EQ(count, 1) << key;
}

TEST_F(Ranked, AModelThatIsWrongIsNotAskedAnyMore) {
  const auto right = ranked();
  const auto wrong = ranked();
  for (int i = 0; i < 40; ++i) {
    const Recipe a = right->ask(), b = wrong->ask();
    right->tell(outcome(a, 10 + threads_of(a)));
    wrong->tell(outcome(b, 1 / (10 + threads_of(b))));
  }
  EXPECT_TRUE(right->trusts());
  EXPECT_FALSE(wrong->trusts());
}

TEST_F(Ranked, WhatALanguageModelWroteIsSentAtOnce) {
  Program written = task_.reference;
  written.source += "// shorter\n__device__ int unused() { return 1; }\n";
  const Recipe models = {model_code_step(written, "reply", task_.math)};
  ASSERT_TRUE(builder_->space().replays(models));
  recipes_.insert(recipes_.begin(), models);
  const auto strategy = ranked();
  EXPECT_EQ(strategy->ask(), models);
  EXPECT_EQ(rest_->asked, 1U);
}

TEST_F(Ranked, WithoutAModelThereIsNoRanker) {
  EXPECT_EQ(ranking::Ranker::make(nullptr, builder_->space().context(), rewriting_), nullptr);
}

}  // namespace
}  // namespace hone
