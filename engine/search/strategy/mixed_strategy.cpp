#include "engine/search/strategy/mixed_strategy.h"

#include <cmath>

namespace hone {
namespace {

constexpr double kEvaluationsOfAnyBudget = 1000;  // where nobody says how large it is

}  // namespace

MixedStrategy::MixedStrategy(std::unique_ptr<Strategy> rules, RecipeSource& source,
                             double reference_time_us, double budget)
    : rules_(std::move(rules)),
      source_(source),
      budget_(budget > 0 ? budget : kEvaluationsOfAnyBudget),
      best_us_(reference_time_us) {}

double MixedStrategy::share_of_model() const {
  const std::lock_guard lock(mutex_);
  return bandit_.share_of_model();
}

Recipe MixedStrategy::ask() {
  source_.go_on(share_of_model());
  // What is there is paid for: it is tried at once.
  if (auto recipe = source_.next()) {
    const std::lock_guard lock(mutex_);
    models_.insert(recipe_key(*recipe));
    return std::move(*recipe);
  }
  return rules_->ask();
}

void MixedStrategy::tell(const Outcome& outcome) {
  Outcome told = outcome;
  {
    const std::lock_guard lock(mutex_);
    const bool of_model = models_.erase(recipe_key(outcome.recipe)) > 0 || outcome.stranger;
    told.stranger = of_model;
    const bool better = outcome.verdict == Verdict::kOk && !outcome.duplicate &&
                        outcome.time_us > 0 && outcome.time_us < best_us_;
    const double gain = better ? std::log(best_us_ / outcome.time_us) : 0;
    if (better) best_us_ = outcome.time_us;
    const double cost = outcome.cost / budget_;
    const double money = source_.spent();
    if (money > money_told_) {
      bandit_.tell(Bandit::Arm::kModel, 0, money - money_told_);
      money_told_ = money;
    }
    bandit_.tell(of_model ? Bandit::Arm::kModel : Bandit::Arm::kRules, gain, cost);
  }
  rules_->tell(told);
}

}  // namespace hone
