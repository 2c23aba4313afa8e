#include <fmt/ranges.h>

#include "engine/search/strategy/bandit_strategy.h"
#include "engine/search/strategy/evolve_strategy.h"
#include "engine/search/strategy/portfolio_strategy.h"
#include "engine/search/strategy/random_strategy.h"
#include "engine/search/strategy/strategy.h"
#include "engine/search/strategy/vndx_strategy.h"

namespace hone {
namespace {

template <class T>
std::unique_ptr<Strategy> make(Space& space, std::uint64_t seed, double reference_time_us) {
  return std::make_unique<T>(space, seed, reference_time_us);
}

}  // namespace

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> kStrategies = {
      {"evolve", "mutates, extends and crosses the fastest recipes", make<EvolveStrategy>},
      {"bandit", "of the rules and generators, the one that gained most for its tries",
       make<BanditStrategy>},
      {"portfolio", "evolve and vndx in turns, the more successful one more often",
       make<PortfolioStrategy>},
      {"random", "random walks of up to six steps", make<RandomStrategy>},
      {"vndx", "of a few neighbours of a fast recipe, the one nearest to fast ones",
       make<VndxStrategy>},
  };
  return kStrategies;
}

const StrategyInfo* find_strategy(std::string_view name) {
  for (const StrategyInfo& info : strategies()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

Result<void> check_strategy(std::string_view name) {
  if (find_strategy(name) != nullptr) return {};
  std::vector<std::string_view> names;
  for (const StrategyInfo& info : strategies()) names.push_back(info.name);
  return invalid(
      fmt::format("no strategy is called '{}'; there are {}", name, fmt::join(names, ", ")));
}

}  // namespace hone
