// A strategy beside a source of recipes that have a price of their own, such as a language model.
// Recipes of both are told to the strategy, so that its rules are tried on what the model wrote.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include "engine/search/strategy/bandit.h"
#include "engine/search/strategy/strategy.h"

namespace hone {

/// Thread-safe.
class RecipeSource {
 public:
  virtual ~RecipeSource() = default;
  /// May ask for more, where `share` (0 to 1) of the effort is its to spend; soon done.
  virtual void go_on(double share) = 0;
  /// One that is ready; each once.
  [[nodiscard]] virtual std::optional<Recipe> next() = 0;
  /// What it has spent of its own budgets so far, 0 to 1.
  [[nodiscard]] virtual double spent() const = 0;
};

class MixedStrategy final : public Strategy {
 public:
  /// `source` must outlive it. `budget` is that of the search, in the unit of Outcome::cost; 0: not
  /// known.
  MixedStrategy(std::unique_ptr<Strategy> rules, RecipeSource& source, double reference_time_us,
                double budget);
  [[nodiscard]] std::string_view name() const override { return rules_->name(); }
  Recipe ask() override;
  void tell(const Outcome& outcome) override;
  [[nodiscard]] std::size_t pioneers() const override { return rules_->pioneers(); }
  [[nodiscard]] double share_of_model() const;

 private:
  const std::unique_ptr<Strategy> rules_;
  RecipeSource& source_;
  const double budget_;
  mutable std::mutex mutex_;  ///< of what follows
  Bandit bandit_;
  double best_us_;
  double money_told_ = 0;
  std::unordered_set<std::string> models_;  ///< keys of recipes from the source, in flight
};

}  // namespace hone
