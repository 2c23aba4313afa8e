#include "engine/search/strategy/bandit_strategy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/search/strategy/moves.h"
#include "engine/search/strategy/unlocked.h"

namespace hone {
BanditStrategy::BanditStrategy(Space& space, std::uint64_t seed, double reference_time_us)
    : space_(space), random_(seed), elites_{{{}, reference_time_us}} {
  const auto roots = space_.proposals({});
  for (const Proposal& proposal : *roots) arms_.try_emplace(proposal.rewriter);
  FirstRecipes first = first_recipes(space_);
  pioneers_ = first.with_start;
  for (Recipe& recipe : first.recipes) opening_.push_back(std::move(recipe));
}

const std::string& BanditStrategy::best_arm() const {
  double pulls = 1;
  for (const auto& [name, arm] : arms_) pulls += arm.pulls;
  const auto bound = [&](const Arm& arm) {
    if (arm.pulls == 0) return std::numeric_limits<double>::infinity();
    return arm.gain / arm.pulls + kExploration * std::sqrt(2 * std::log(pulls) / arm.pulls);
  };
  return std::ranges::max_element(arms_, {}, [&](const auto& arm) { return bound(arm.second); })
      ->first;
}

/// The faster, the likelier.
BanditStrategy::Point BanditStrategy::draw_parent() {
  std::vector<double> weights;
  for (const Point& elite : elites_)
    weights.push_back(std::pow(elites_.front().time_us / elite.time_us, 3));
  return elites_[random_.weighted(weights)];
}

std::optional<Recipe> BanditStrategy::pull(Lock& lock, const std::string& rewriter,
                                           const Point& parent) {
  Recipe recipe = parent.recipe;
  const auto own = std::ranges::find(recipe, rewriter, &Step::rewriter);
  if (own != recipe.end() && !own->params.empty() && random_.chance(kChange)) {
    const Recipe prefix(recipe.begin(), own);
    const auto proposal = unlocked(lock, [&] { return space_.proposal_of(prefix, *own); });
    if (!proposal || !change_value(*proposal, kNeighbour, *own, random_)) return std::nullopt;
    return recipe;
  }
  if (recipe.size() >= kMostSteps) return std::nullopt;
  auto proposals = unlocked(lock, [&] { return space_.proposals(recipe); });
  for (const Proposal& proposal : *proposals) arms_.try_emplace(proposal.rewriter);
  std::vector<const Proposal*> by_rewriter;
  for (const Proposal& proposal : *proposals)
    if (proposal.rewriter == rewriter) by_rewriter.push_back(&proposal);
  if (by_rewriter.empty()) return std::nullopt;
  recipe.push_back(random_step(*by_rewriter[random_.index(by_rewriter.size())], random_));
  return recipe;
}

Recipe BanditStrategy::ask() {
  Lock lock(mutex_);
  while (!opening_.empty()) {
    Recipe recipe = std::move(opening_.front());
    opening_.pop_front();
    if (!asked_.insert(recipe_key(recipe)).second) continue;
    pending_[recipe_key(recipe)] = {recipe.front().rewriter, elites_.back().time_us};
    return recipe;
  }
  Recipe recipe;
  for (int i = 0; i < kTries && !arms_.empty(); ++i) {
    const std::string arm = best_arm();
    const Point parent = draw_parent();
    ++arms_[arm].pulls;  // what does not apply here costs a pull, too
    const auto made = pull(lock, arm, parent);
    if (!made) continue;
    recipe = repaired(space_, lock, *made);
    if (recipe.empty() || !asked_.insert(recipe_key(recipe)).second) continue;
    pending_[recipe_key(recipe)] = {arm, parent.time_us};
    return recipe;
  }
  return recipe;
}

void BanditStrategy::tell(const Outcome& outcome) {
  const std::scoped_lock lock(mutex_);
  const bool ok = outcome.verdict == Verdict::kOk && outcome.time_us > 0;
  const auto pending = pending_.find(recipe_key(outcome.recipe));
  if (pending != pending_.end()) {
    if (ok && !outcome.duplicate)
      arms_[pending->second.arm].gain +=
          std::clamp(std::log(pending->second.parent_time_us / outcome.time_us), 0.0, kMostGain);
    pending_.erase(pending);
  }
  if (!ok || outcome.duplicate) return;
  const auto place =
      std::ranges::find_if(elites_, [&](const Point& p) { return outcome.time_us < p.time_us; });
  elites_.insert(place, {outcome.recipe, outcome.time_us});
  if (elites_.size() > kElites) elites_.pop_back();
}

}  // namespace hone
