// Who gets how much of a search: rules or a model.
#include "engine/search/strategy/mixed_strategy.h"

#include <gtest/gtest.h>

#include <deque>

namespace hone {
namespace {

Recipe recipe(const std::string& name) { return {Step{name, 1, "k", {}, MathLevel::kExact}}; }

class Rules final : public Strategy {
 public:
  std::string_view name() const override { return "rules"; }
  Recipe ask() override { return recipe("rule" + std::to_string(++asked)); }
  void tell(const Outcome&) override { ++told; }
  int asked = 0, told = 0;
};

class Source final : public RecipeSource {
 public:
  void go_on(double share) override { shares.push_back(share); }
  std::optional<Recipe> next() override {
    if (ready.empty()) return std::nullopt;
    Recipe first = ready.front();
    ready.pop_front();
    return first;
  }
  double spent() const override { return money; }
  std::deque<Recipe> ready;
  std::vector<double> shares;
  double money = 0;
};

Outcome outcome(const Recipe& of, double time_us) {
  Outcome told;
  told.recipe = of;
  told.verdict = Verdict::kOk;
  told.time_us = time_us;
  return told;
}

struct Mixed {
  Source source;
  Rules* rules = new Rules;
  MixedStrategy strategy{std::unique_ptr<Strategy>(rules), source, 100, 100};
};

TEST(MixedStrategy, WhatIsReadyIsTriedFirstAndToldToTheRules) {
  Mixed mixed;
  mixed.source.ready.push_back(recipe("model"));
  EXPECT_EQ(mixed.strategy.ask(), recipe("model"));
  EXPECT_EQ(mixed.strategy.ask(), recipe("rule1"));
  mixed.strategy.tell(outcome(recipe("model"), 50));
  EXPECT_EQ(mixed.rules->told, 1);
}

TEST(MixedStrategy, WhoGainsGetsMore) {
  Mixed gaining, useless;
  for (Mixed* mixed : {&gaining, &useless}) {
    double best = 100;
    for (int i = 0; i < 20; ++i) {
      mixed->source.ready.push_back(recipe("model" + std::to_string(i)));
      const Recipe of_model = mixed->strategy.ask(), of_rules = mixed->strategy.ask();
      best *= 0.95;
      mixed->strategy.tell(outcome(mixed == &gaining ? of_model : of_rules, best));
      mixed->strategy.tell(outcome(mixed == &gaining ? of_rules : of_model, 200));
    }
  }
  EXPECT_GT(gaining.strategy.share_of_model(), 0.7);
  EXPECT_LT(useless.strategy.share_of_model(), 0.3);
  EXPECT_GE(useless.strategy.share_of_model(), Bandit::kLeast);
}

TEST(MixedStrategy, MoneyCountsAsTimeDoes) {
  Mixed cheap, dear;
  for (int i = 0; i < 10; ++i) {
    for (Mixed* mixed : {&cheap, &dear}) {
      mixed->source.money += mixed == &dear ? 0.09 : 0;
      mixed->source.ready.push_back(recipe("model" + std::to_string(i)));
      const Recipe of_model = mixed->strategy.ask();
      mixed->strategy.tell(outcome(of_model, 200));
    }
  }
  EXPECT_LT(dear.strategy.share_of_model(), cheap.strategy.share_of_model() - 0.1);
}

TEST(MixedStrategy, SlowerOrRepeatedRecipesGainNothing) {
  Bandit bandit;
  const double before = bandit.share_of_model();
  bandit.tell(Bandit::Arm::kModel, -3, 0);
  EXPECT_DOUBLE_EQ(bandit.share_of_model(), before);
  bandit.tell(Bandit::Arm::kModel, 0.5, 0);
  EXPECT_GT(bandit.share_of_model(), before);
}

}  // namespace
}  // namespace hone
