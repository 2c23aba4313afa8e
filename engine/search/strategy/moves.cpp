#include "engine/search/strategy/moves.h"

#include "engine/search/strategy/unlocked.h"

namespace hone {

Step random_step(const Proposal& proposal, Random& random) {
  std::vector<std::size_t> choice;
  for (const Parameter& parameter : proposal.parameters) {
    choice.push_back(random.index(parameter.domain.size()));
  }
  return proposal.step(choice);
}

FirstSteps first_steps(const std::vector<Proposal>& proposals) {
  FirstSteps first;
  for (const Proposal& proposal : proposals)
    if (!proposal.start.empty()) first.steps.push_back(proposal.step(proposal.start));
  first.with_start = first.steps.size();
  for (const Proposal& proposal : proposals) {
    if (!proposal.start.empty()) continue;
    std::vector<std::size_t> middle;
    for (const Parameter& p : proposal.parameters) middle.push_back(p.domain.size() / 2);
    first.steps.push_back(proposal.step(middle));
  }
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
