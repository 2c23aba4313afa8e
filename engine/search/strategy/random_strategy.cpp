#include "engine/search/strategy/random_strategy.h"

#include "engine/search/strategy/moves.h"

namespace hone {

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
