// Steps that several strategies make of what a space proposes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "candidates/recipe.h"
#include "engine/search/random.h"
#include "engine/search/strategy/space.h"

namespace hone {

/// A step of `proposal` with every parameter drawn uniformly.
[[nodiscard]] Step random_step(const Proposal& proposal, Random& random);

/// Gives one parameter of `step`, which is of `proposal`, another value: with odds of `neighbour`
/// the next in its domain's order. False: it stays as it was.
bool change_value(const Proposal& proposal, double neighbour, Step& step, Random& random);

struct FirstSteps {
  std::vector<Step> steps;
  std::size_t with_start = 0;  ///< so many of them, the first ones, begin where their rewriter says
};
/// Where rewriters know where to start: the best start of each proposal, those of the loosest
/// arithmetic that the task allows first, then the second ones, up to `of_each`. Then the other
/// proposals, each once, in the middle of its domains.
[[nodiscard]] FirstSteps first_steps(const std::vector<Proposal>& proposals,
                                     std::size_t of_each = SIZE_MAX);

struct FirstRecipes {
  std::vector<Recipe> recipes;
  std::size_t with_start = 0;  ///< as of FirstSteps
};
/// What a search begins with. Where rewriters know where to start at several sites (the launches of
/// a module): the best starts of all of them, one after the other, as far as they replay; such a
/// task is slow until all of its parts are fast. Once with the loosest arithmetic that the task
/// allows, once in the order of the proposals; not of tasks of many launches. Then first_steps(),
/// each alone.
[[nodiscard]] FirstRecipes first_recipes(Space& space);

/// `recipe` without the steps that do not replay after those before them. The lock is not held
/// while the space is asked.
[[nodiscard]] Recipe repaired(Space& space, std::unique_lock<std::mutex>& lock,
                              const Recipe& recipe);

}  // namespace hone
