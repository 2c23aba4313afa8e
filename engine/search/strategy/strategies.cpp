#include <fmt/ranges.h>

#include "engine/search/strategy/evolve_strategy.h"
#include "engine/search/strategy/random_strategy.h"
#include "engine/search/strategy/strategy.h"

namespace hone {
namespace {

std::unique_ptr<Strategy> make_evolve(Space& space, std::uint64_t seed, double reference_time_us) {
  return std::make_unique<EvolveStrategy>(space, seed, reference_time_us);
}
std::unique_ptr<Strategy> make_random(Space& space, std::uint64_t seed, double) {
  return std::make_unique<RandomStrategy>(space, seed);
}

}  // namespace

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> kStrategies = {
      {"evolve", "mutates, extends and crosses the fastest recipes", make_evolve},
      {"random", "random walks of up to six steps", make_random},
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
