// A bandit over generators and rules: each is an arm. The one with the highest upper confidence
// bound (UCB1: Auer, Cesa-Bianchi, Fischer, 2002) on what it gained, in log(time ratio), changes or
// extends a fast recipe.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/search/random.h"
#include "engine/search/strategy/strategy.h"

namespace hone {

class BanditStrategy final : public Strategy {
 public:
  BanditStrategy(Space& space, std::uint64_t seed, double reference_time_us);
  std::string_view name() const override { return "bandit"; }
  Recipe ask() override;
  void tell(const Outcome& outcome) override;
  [[nodiscard]] std::size_t pioneers() const override { return pioneers_; }

 private:
  struct Arm {
    double gain = 0;  ///< in all
    double pulls = 0;
  };
  struct Point {
    Recipe recipe;
    double time_us = 0;
  };
  struct Pull {
    std::string arm;
    double parent_time_us = 0;
  };
  using Lock = std::unique_lock<std::mutex>;
  // These hold the lock, but while they ask the space.
  [[nodiscard]] const std::string& best_arm() const;
  /// A fast recipe, changed or extended by the rewriter; nothing where it does not apply.
  [[nodiscard]] std::optional<Recipe> pull(Lock& lock, const std::string& rewriter,
                                           const Point& parent);
  [[nodiscard]] Point draw_parent();

  static constexpr std::size_t kElites = 12, kMostSteps = 10;
  static constexpr double kExploration = 0.1;  // in log(time ratio)
  static constexpr double kMostGain = 1;  // of one pull: the first generated kernel is no measure
  static constexpr double kChange = 0.7;  // of a step that is there, rather than one more
  static constexpr double kNeighbour = 0.6;  // in the domain's order, rather than any value
  static constexpr int kTries = 20;
  Space& space_;
  std::size_t pioneers_ = 0;
  std::mutex mutex_;  ///< of what follows
  Random random_;
  std::deque<Recipe> opening_;
  std::map<std::string, Arm> arms_;  ///< by rewriter
  std::vector<Point> elites_;        ///< the fastest first, the reference among them
  std::unordered_set<std::string> asked_;
  std::unordered_map<std::string, Pull> pending_;  ///< by recipe key
};

}  // namespace hone
