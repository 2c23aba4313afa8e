#include "engine/search/strategy/portfolio_strategy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/search/strategy/evolve_strategy.h"
#include "engine/search/strategy/space.h"
#include "engine/search/strategy/unlocked.h"
#include "engine/search/strategy/vndx_strategy.h"

namespace hone {
namespace {

constexpr std::uint64_t kSeedOfSecond = 0x706F7274666F6C69;

std::vector<std::unique_ptr<Strategy>> usual_members(Space& space, std::uint64_t seed,
                                                     double reference_time_us) {
  std::vector<std::unique_ptr<Strategy>> members;
  members.push_back(std::make_unique<EvolveStrategy>(space, seed, reference_time_us));
  members.push_back(std::make_unique<VndxStrategy>(space, seed ^ kSeedOfSecond, reference_time_us));
  return members;
}

}  // namespace

PortfolioStrategy::PortfolioStrategy(Space& space, std::uint64_t seed, double reference_time_us)
    : PortfolioStrategy(usual_members(space, seed, reference_time_us), reference_time_us) {}

PortfolioStrategy::PortfolioStrategy(std::vector<std::unique_ptr<Strategy>> members,
                                     double reference_time_us)
    : members_(std::move(members)), best_us_(reference_time_us) {}

/// The later of its turns found something faster, the more; then how seldom it had one.
double PortfolioStrategy::score(std::size_t member) const {
  double turns = 0, area = 0;
  for (const Turn& turn : window_) {
    if (turn.member != member) continue;
    ++turns;
    if (turn.faster) area += turns;
  }
  if (turns == 0) return std::numeric_limits<double>::infinity();
  const double all = static_cast<double>(window_.size());
  return 2 * area / (turns * (turns + 1)) + kExploration * std::sqrt(2 * std::log(all) / turns);
}

std::size_t PortfolioStrategy::next() const {
  if (asked_of_first_ < pioneers()) return 0;  // all of them begin with the same
  std::size_t best = 0;
  for (std::size_t member = 1; member < members_.size(); ++member)
    if (score(member) > score(best)) best = member;
  return best;
}

Recipe PortfolioStrategy::ask() {
  std::unique_lock lock(mutex_);
  const std::size_t member = next();
  if (member == 0) ++asked_of_first_;
  // Counted from here on, so that of many who ask at once not all get the same member.
  window_.push_back({.member = member});
  if (window_.size() > kWindow) window_.pop_front();
  Recipe recipe;
  for (int i = 0; i < kTries; ++i) {
    recipe = unlocked(lock, [&] { return members_[member]->ask(); });
    if (asked_.insert(recipe_key(recipe)).second) break;
  }
  const auto turn = std::ranges::find_if(
      window_, [&](const Turn& t) { return t.member == member && t.key.empty(); });
  if (turn != window_.end()) turn->key = recipe_key(recipe);
  return recipe;
}

void PortfolioStrategy::tell(const Outcome& outcome) {
  for (const auto& member : members_) member->tell(outcome);
  const std::scoped_lock lock(mutex_);
  const bool faster = outcome.verdict == Verdict::kOk && !outcome.duplicate &&
                      outcome.time_us > 0 && outcome.time_us < best_us_;
  if (!faster) return;
  best_us_ = outcome.time_us;
  const auto turn = std::ranges::find(window_, recipe_key(outcome.recipe), &Turn::key);
  if (turn != window_.end()) turn->faster = true;
}

}  // namespace hone
