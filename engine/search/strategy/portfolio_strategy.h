// Several strategies in turns: all hear of all outcomes, and who found faster programs lately asks
// more often. Who is next is decided by the area under each one's curve of successes in a sliding
// window, and by how seldom it was asked (Ansel et al., "OpenTuner: An Extensible Framework for
// Program Autotuning", 2014).
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/search/strategy/strategy.h"

namespace hone {

class PortfolioStrategy final : public Strategy {
 public:
  /// Evolution, and variable neighbourhoods.
  PortfolioStrategy(Space& space, std::uint64_t seed, double reference_time_us);
  /// `members`: at least one.
  PortfolioStrategy(std::vector<std::unique_ptr<Strategy>> members, double reference_time_us);
  std::string_view name() const override { return "portfolio"; }
  Recipe ask() override;
  void tell(const Outcome& outcome) override;
  [[nodiscard]] std::size_t pioneers() const override { return members_.front()->pioneers(); }

 private:
  struct Turn {
    std::size_t member = 0;
    std::string key;      ///< of the recipe
    bool faster = false;  ///< than all before
  };
  /// These hold the lock.
  [[nodiscard]] std::size_t next() const;
  [[nodiscard]] double score(std::size_t member) const;

  static constexpr std::size_t kWindow = 100;   // turns that count
  static constexpr double kExploration = 0.05;  // weight of having been asked seldom
  static constexpr int kTries = 4;              // for a recipe that nobody asked for
  const std::vector<std::unique_ptr<Strategy>> members_;
  std::mutex mutex_;  ///< of what follows
  double best_us_;
  std::size_t asked_of_first_ = 0;
  std::deque<Turn> window_;  ///< oldest first
  std::unordered_set<std::string> asked_;
};

}  // namespace hone
