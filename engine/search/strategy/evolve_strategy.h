// Evolution over recipes: the fastest recipes are parents; a child mutates one parameter, adds,
// drops, replaces or moves a step, or crosses two parents. Which rewriter a new step comes from is
// drawn by what each rewriter has gained so far, so effort goes where it pays on this task.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/search/random.h"
#include "engine/search/strategy/strategy.h"

namespace hone {

class EvolveStrategy final : public Strategy {
 public:
  EvolveStrategy(Space& space, std::uint64_t seed, double reference_time_us);
  std::string_view name() const override { return "evolve"; }
  Recipe ask() override;
  void tell(const Outcome& outcome) override;
  /// The starting points of rewriters that know where to start.
  [[nodiscard]] std::size_t pioneers() const override { return pioneers_; }

 private:
  struct Parent {
    Recipe recipe;
    double time_us;
    int children = 0;
  };
  /// Mean gain of the children that a rewriter made, in log(time ratio), optimistic at first.
  struct Credit {
    double gain = 1.0;
    double tries = 1.0;
  };
  struct Pending {
    double parent_time_us = 0;
    std::string rewriter;  ///< credited with the gain; empty: nobody
  };

  /// All of these hold the lock, but while they ask the space.
  using Lock = std::unique_lock<std::mutex>;
  const Parent& select();
  Recipe child(Lock& lock);
  struct Opening {
    Recipe recipe;
    double parent_time_us;
  };
  void open_after(Lock& lock, const Opening& stranger);
  std::optional<Recipe> add_step(Lock& lock, const Recipe& recipe, std::string* rewriter);
  std::optional<Recipe> mutate_parameter(Lock& lock, const Recipe& recipe, std::string* rewriter);
  std::optional<Recipe> drop_step(const Recipe& recipe);
  std::optional<Recipe> move_step(const Recipe& recipe);
  std::optional<Recipe> cross(const Recipe& recipe);
  [[nodiscard]] double weight_of(const std::string& rewriter) const;

  static constexpr std::size_t kParents = 24;
  static constexpr std::size_t kMaxSteps = 10;
  static constexpr double kNeighbour = 0.6;  // the odds of a value next to the old one
  Space& space_;
  const double reference_time_us_;
  std::size_t pioneers_ = 0;
  std::mutex mutex_;  ///< of what follows
  Random random_;
  std::deque<Opening> opening_;    // one or two steps at every site, before evolution starts
  std::deque<Opening> strangers_;  // right ones that somebody else asked for: opened, too
  std::vector<Parent> parents_;    // fastest first
  std::map<std::string, Credit> credits_;
  std::unordered_set<std::string> asked_;
  std::map<std::string, Pending> pending_;  // by recipe key
};

}  // namespace hone
