#include "engine/search/strategy/known_first.h"

#include <utility>

namespace hone {

Recipe KnownFirst::ask() {
  {
    const std::lock_guard lock(mutex_);
    if (!known_.empty()) {
      Recipe recipe = std::move(known_.front());
      known_.pop_front();
      in_flight_.insert(recipe_key(recipe));
      return recipe;
    }
  }
  return rest_->ask();
}

bool KnownFirst::waits() const {
  const std::lock_guard lock(mutex_);
  return !known_.empty() || !in_flight_.empty();
}

void KnownFirst::tell(const Outcome& outcome) {
  Outcome told = outcome;
  {
    const std::lock_guard lock(mutex_);
    if (in_flight_.erase(recipe_key(outcome.recipe)) > 0) told.stranger = true;
  }
  rest_->tell(told);
}

}  // namespace hone
