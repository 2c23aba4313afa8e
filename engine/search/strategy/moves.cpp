#include "engine/search/strategy/moves.h"

#include <algorithm>

#include "engine/search/strategy/unlocked.h"

namespace hone {

Step random_step(const Proposal& proposal, Random& random) {
  std::vector<std::size_t> choice;
  for (const Parameter& parameter : proposal.parameters) {
    choice.push_back(random.index(parameter.domain.size()));
  }
  return proposal.step(choice);
}

bool change_value(const Proposal& proposal, double neighbour, Step& step, Random& random) {
  if (proposal.parameters.empty()) return false;
  const Parameter& parameter = proposal.parameters[random.index(proposal.parameters.size())];
  const auto& domain = parameter.domain;
  if (domain.size() < 2) return false;
  ParameterValue& value = step.params[parameter.name];
  const auto now = std::ranges::find(domain, value);
  std::size_t next = random.index(domain.size());
  if (now != domain.end() && random.chance(neighbour)) {
    const auto position = static_cast<std::size_t>(now - domain.begin());
    const bool up = position == 0 || (position + 1 < domain.size() && random.chance(0.5));
    next = up ? position + 1 : position - 1;
  }
  if (value == domain[next]) return false;
  value = domain[next];
  return true;
}

namespace {

using Offered = std::vector<const Proposal*>;

Offered as_offered(const std::vector<Proposal>& proposals) {
  Offered offered;
  for (const Proposal& proposal : proposals)
    if (!proposal.starts.empty()) offered.push_back(&proposal);
  return offered;
}

/// Tensor cores, where the task allows them, before what computes the same nest without them.
Offered loosest_first(const std::vector<Proposal>& proposals) {
  Offered offered = as_offered(proposals);
  std::ranges::stable_sort(offered, std::ranges::greater(), &Proposal::math);
  return offered;
}

}  // namespace

FirstSteps first_steps(const std::vector<Proposal>& proposals, std::size_t of_each) {
  FirstSteps first;
  std::size_t rounds = 0;
  for (const Proposal& proposal : proposals) rounds = std::max(rounds, proposal.starts.size());
  const Offered offered = loosest_first(proposals);
  for (std::size_t round = 0; round < std::min(rounds, of_each); ++round)
    for (const Proposal* proposal : offered)
      if (round < proposal->starts.size())
        first.steps.push_back(proposal->step(proposal->starts[round]));
  first.with_start = first.steps.size();
  for (const Proposal& proposal : proposals) {
    if (!proposal.starts.empty()) continue;
    std::vector<std::size_t> middle;
    for (const Parameter& p : proposal.parameters) middle.push_back(p.domain.size() / 2);
    first.steps.push_back(proposal.step(middle));
  }
  return first;
}

namespace {

Recipe start_everywhere(Space& space, const std::vector<Proposal>& proposals,
                        Offered (*order)(const std::vector<Proposal>&)) {
  constexpr std::size_t kMostSteps = 12;
  Recipe recipe;
  const auto add = [&](const std::vector<Proposal>& found) {
    const std::size_t before = recipe.size();
    for (const Proposal* proposal : order(found)) {
      if (recipe.size() == kMostSteps) break;
      recipe.push_back(proposal->step(proposal->starts.front()));
      // Two sites may be one nest, which the first has taken.
      if (!space.replays(recipe)) recipe.pop_back();
    }
    return recipe.size() > before;
  };
  // A site's name may change with what became of the nest before it: asked again, it is found.
  for (bool more = add(proposals); more && recipe.size() < kMostSteps;)
    more = add(*space.proposals(recipe));
  return recipe.size() < 2 ? Recipe() : recipe;
}

}  // namespace

FirstRecipes first_recipes(Space& space) {
  // Each step at several sites is replayed here, before anything is evaluated. Of 168 launches that
  // takes seconds.
  constexpr std::size_t kMostLaunches = 16;
  const auto proposals = space.proposals({});
  FirstRecipes first;
  const Task* const task = space.context().task;
  if (task != nullptr && task->reference.launches.size() <= kMostLaunches) {
    for (const auto order : {loosest_first, as_offered}) {
      Recipe all = start_everywhere(space, *proposals, order);
      if (!all.empty() && std::ranges::find(first.recipes, all) == first.recipes.end())
        first.recipes.push_back(std::move(all));
    }
  }
  FirstSteps steps = first_steps(*proposals);
  first.with_start = first.recipes.size() + steps.with_start;
  for (Step& step : steps.steps) first.recipes.push_back({std::move(step)});
  return first;
}

Recipe repaired(Space& space, std::unique_lock<std::mutex>& lock, const Recipe& recipe) {
  Recipe result;
  for (const Step& step : recipe) {
    result.push_back(step);
    if (!unlocked(lock, [&] { return space.replays(result); })) result.pop_back();
  }
  return result;
}

}  // namespace hone
