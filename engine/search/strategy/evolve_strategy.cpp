#include "engine/search/strategy/evolve_strategy.h"

#include <algorithm>
#include <cmath>

#include "engine/search/strategy/moves.h"
#include "engine/search/strategy/unlocked.h"

namespace hone {
EvolveStrategy::EvolveStrategy(Space& space, std::uint64_t seed, double reference_time_us)
    : space_(space), reference_time_us_(reference_time_us), random_(seed) {
  parents_.push_back({{}, reference_time_us});
  // The opening: where rewriters know where to start, then every other site once, in the middle of
  // its domains; then a few times at random.
  const auto roots = space_.proposals({});
  FirstRecipes first = first_recipes(space_);
  pioneers_ = first.with_start;
  for (Recipe& recipe : first.recipes) opening_.push_back({std::move(recipe), reference_time_us});
  for (int round = 0; round < 3; ++round) {
    for (const Proposal& proposal : *roots) {
      if (!proposal.parameters.empty())
        opening_.push_back({{random_step(proposal, random_)}, reference_time_us});
    }
  }
}

double EvolveStrategy::weight_of(const std::string& rewriter) const {
  const auto found = credits_.find(rewriter);
  const Credit credit = found == credits_.end() ? Credit{} : found->second;
  // The constant keeps every rewriter alive: a step may pay only after another one.
  return 0.05 + credit.gain / credit.tries;
}

const EvolveStrategy::Parent& EvolveStrategy::select() {
  // Fast parents first, and those with few children before those that were tried often.
  std::vector<double> weights;
  const double best = parents_.front().time_us;
  for (std::size_t i = 0; i < parents_.size(); ++i) {
    const double closeness = std::pow(best / parents_[i].time_us, 3.0);
    weights.push_back(closeness / (1.0 + 0.2 * static_cast<double>(i)) /
                      std::sqrt(1.0 + parents_[i].children));
  }
  Parent& parent = parents_[random_.weighted(weights)];
  ++parent.children;
  return parent;
}

std::optional<Recipe> EvolveStrategy::add_step(Lock& lock, const Recipe& recipe,
                                               std::string* rewriter) {
  if (recipe.size() >= kMaxSteps) return std::nullopt;
  const auto proposals = unlocked(lock, [&] { return space_.proposals(recipe); });
  if (proposals->empty()) return std::nullopt;
  std::map<std::string, std::vector<const Proposal*>> by_rewriter;
  for (const Proposal& proposal : *proposals) by_rewriter[proposal.rewriter].push_back(&proposal);
  std::vector<double> weights;
  std::vector<const std::vector<const Proposal*>*> groups;
  for (const auto& [name, group] : by_rewriter) {
    // A rewriter that is in the recipe already may fire again, at lower odds.
    const bool used =
        std::ranges::any_of(recipe, [&](const Step& s) { return s.rewriter == name; });
    weights.push_back(weight_of(name) * (used ? 0.4 : 1.0));
    groups.push_back(&group);
  }
  const auto& group = *groups[random_.weighted(weights)];
  const Proposal& proposal = *group[random_.index(group.size())];
  *rewriter = proposal.rewriter;
  Recipe result = recipe;
  result.push_back(random_step(proposal, random_));
  return result;
}

std::optional<Recipe> EvolveStrategy::mutate_parameter(Lock& lock, const Recipe& recipe,
                                                       std::string* rewriter) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < recipe.size(); ++i) {
    if (!recipe[i].params.empty()) candidates.push_back(i);
  }
  if (candidates.empty()) return std::nullopt;
  const std::size_t at = candidates[random_.index(candidates.size())];
  const Recipe prefix(recipe.begin(), recipe.begin() + static_cast<std::ptrdiff_t>(at));
  const auto proposal = unlocked(lock, [&] { return space_.proposal_of(prefix, recipe[at]); });
  if (!proposal) return std::nullopt;
  Step step = recipe[at];
  const int changes = random_.chance(0.25) ? 2 : 1;
  for (int change = 0; change < changes; ++change)
    (void)change_value(*proposal, kNeighbour, step, random_);
  if (step == recipe[at]) return std::nullopt;
  *rewriter = step.rewriter;
  Recipe result = recipe;
  result[at] = step;
  return result;
}

std::optional<Recipe> EvolveStrategy::drop_step(const Recipe& recipe) {
  if (recipe.empty()) return std::nullopt;
  Recipe result = recipe;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(random_.index(recipe.size())));
  return result;
}

std::optional<Recipe> EvolveStrategy::move_step(const Recipe& recipe) {
  if (recipe.size() < 2) return std::nullopt;
  Recipe result = recipe;
  const std::size_t from = random_.index(recipe.size());
  const Step step = result[from];
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(from));
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(random_.index(recipe.size())), step);
  return result;
}

std::optional<Recipe> EvolveStrategy::cross(const Recipe& recipe) {
  if (parents_.size() < 2) return std::nullopt;
  const Recipe& other = parents_[random_.index(parents_.size())].recipe;
  if (other.empty() || recipe.empty()) return std::nullopt;
  const std::size_t head = random_.index(recipe.size() + 1);
  const std::size_t tail = random_.index(other.size());
  Recipe result(recipe.begin(), recipe.begin() + static_cast<std::ptrdiff_t>(head));
  for (std::size_t i = tail; i < other.size() && result.size() < kMaxSteps; ++i) {
    const bool present = std::ranges::any_of(result, [&](const Step& s) {
      return s.rewriter == other[i].rewriter && s.site == other[i].site;
    });
    if (!present) result.push_back(other[i]);
  }
  return result;
}

Recipe EvolveStrategy::child(Lock& lock) {
  const Parent& parent = select();
  const double parent_time = parent.time_us;
  const Recipe base = parent.recipe;
  std::string rewriter;
  std::optional<Recipe> made;
  const double draw = random_.unit();
  // A generated kernel is tuned by its own parameters more than by rules.
  std::size_t parameters = 0;
  for (const Step& step : base) parameters += step.params.size();
  const double tuned = std::clamp(0.04 * (static_cast<double>(parameters) - 4), 0.0, 0.25);
  if (draw < 0.42 - tuned) {
    made = add_step(lock, base, &rewriter);
    if (made && random_.chance(0.25)) {
      std::string second;
      if (auto more = add_step(lock, *made, &second)) made = more;
    }
  } else if (draw < 0.76) {
    made = mutate_parameter(lock, base, &rewriter);
  } else if (draw < 0.84) {
    made = drop_step(base);
  } else if (draw < 0.90) {
    made = move_step(base);
  } else {
    made = cross(base);
  }
  if (!made) made = add_step(lock, base, &rewriter);
  if (!made) return base;
  Recipe result = repaired(space_, lock, *made);
  pending_[recipe_key(result)] = {parent_time, rewriter};
  return result;
}

/// What rules make of a stranger's program, which may be slow for reasons that one step mends:
/// those that know where to start, then the others in the middle of their domains.
void EvolveStrategy::open_after(Lock& lock, const Opening& stranger) {
  constexpr std::size_t kMost = 16;
  const auto proposals = unlocked(lock, [&] { return space_.proposals(stranger.recipe); });
  std::vector<Opening> opened;
  for (Step& step : first_steps(*proposals, 1).steps) {
    if (opened.size() >= kMost) break;
    opened.push_back(stranger);
    opened.back().recipe.push_back(std::move(step));
  }
  opening_.insert(opening_.begin(), opened.begin(), opened.end());
}

Recipe EvolveStrategy::ask() {
  Lock lock(mutex_);
  if (!strangers_.empty()) {
    const Opening stranger = std::move(strangers_.front());
    strangers_.pop_front();
    open_after(lock, stranger);
  }
  while (!opening_.empty()) {
    Opening opening = std::move(opening_.front());
    opening_.pop_front();
    if (asked_.insert(recipe_key(opening.recipe)).second) {
      pending_[recipe_key(opening.recipe)] = {opening.parent_time_us,
                                              opening.recipe.back().rewriter};
      return std::move(opening.recipe);
    }
  }
  Recipe recipe;
  for (int attempt = 0; attempt < 20; ++attempt) {
    recipe = child(lock);
    if (!recipe.empty() && asked_.insert(recipe_key(recipe)).second) break;
  }
  return recipe;
}

void EvolveStrategy::tell(const Outcome& outcome) {
  const Lock lock(mutex_);
  const std::string key = recipe_key(outcome.recipe);
  const auto pending = pending_.find(key);
  const bool ok = outcome.verdict == Verdict::kOk && outcome.time_us > 0;
  if (pending != pending_.end()) {
    if (!pending->second.rewriter.empty() && !outcome.duplicate) {
      Credit& credit = credits_[pending->second.rewriter];
      // Forgetting keeps the credit about the present parents.
      credit.gain *= 0.98;
      credit.tries = credit.tries * 0.98 + 1;
      if (ok) {
        credit.gain +=
            std::clamp(std::log(pending->second.parent_time_us / outcome.time_us), 0.0, 2.0);
      }
    }
    pending_.erase(pending);
  }
  if (!ok || outcome.duplicate) return;
  if (outcome.stranger && !outcome.recipe.empty())
    strangers_.push_back({outcome.recipe, outcome.time_us});
  const auto place =
      std::ranges::find_if(parents_, [&](const Parent& p) { return outcome.time_us < p.time_us; });
  parents_.insert(place, {outcome.recipe, outcome.time_us});
  if (parents_.size() > kParents) parents_.pop_back();
}

}  // namespace hone
