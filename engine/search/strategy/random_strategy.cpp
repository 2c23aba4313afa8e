#include "engine/search/strategy/random_strategy.h"

namespace hone {

Step random_step(const Proposal& proposal, Random& random) {
  std::vector<std::size_t> choice;
  for (const Parameter& parameter : proposal.parameters) {
    choice.push_back(random.index(parameter.domain.size()));
  }
  return proposal.step(choice);
}

Recipe RandomStrategy::ask() {
  std::unique_lock lock(mutex_);
  Recipe recipe;
  const std::size_t steps = 1 + random_.index(kMaxSteps);
  while (recipe.size() < steps) {
    const auto proposals = unlocked(lock, [&] { return space_.proposals(recipe); });
    if (proposals->empty()) break;
    recipe.push_back(random_step((*proposals)[random_.index(proposals->size())], random_));
  }
  return recipe;
}

}  // namespace hone
