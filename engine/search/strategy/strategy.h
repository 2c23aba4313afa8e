// Ask/tell search. The service asks for recipes, evaluates them elsewhere and tells the outcomes.
// One thread that asks, and tells in the order in which it asked, gets the same recipes for the
// same seed whatever the timing. Thread-safe: several threads may ask at once, since most of the
// time of an answer goes into rewriting.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/recipe.h"
#include "candidates/result.h"
#include "candidates/verdict.h"
#include "engine/search/strategy/space.h"

namespace hone {

/// What became of a recipe.
struct Outcome {
  Recipe recipe;
  Verdict verdict = Verdict::kRefused;
  bool duplicate = false;  ///< the same program was asked for before; verdict and time are its own
  double time_us = 0;      // when verdict is ok
  bool stranger = false;   ///< this strategy did not ask for it
  /// What it took, in the unit of the budget: seconds of evaluating, or evaluations.
  double cost = 1;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// The next recipe to try; may repeat an earlier one (the service notices).
  [[nodiscard]] virtual Recipe ask() = 0;
  virtual void tell(const Outcome& outcome) = 0;
  /// So many of its first recipes are worth waiting for.
  [[nodiscard]] virtual std::size_t pioneers() const { return 0; }
};

struct StrategyInfo {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Strategy> (*make)(Space& space, std::uint64_t seed, double reference_time_us);
};

/// All strategies; the first is the default.
[[nodiscard]] const std::vector<StrategyInfo>& strategies();
[[nodiscard]] const StrategyInfo* find_strategy(std::string_view name);
/// kInvalidInput, with the names that there are.
[[nodiscard]] Result<void> check_strategy(std::string_view name);

}  // namespace hone
