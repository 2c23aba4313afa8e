// Variable-neighbourhood search with a surrogate: of a pool of neighbours of the present recipe
// only the one is evaluated whose nearest evaluated recipes were fastest. After HybridVNDX
// (Willemsen, van Stein, van Werkhoven, "Automated Algorithm Design for Auto-Tuning Optimizers",
// 2026), with its temperature relative to times and its elites the fastest.
#pragma once

#include <array>
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

class VndxStrategy final : public Strategy {
 public:
  VndxStrategy(Space& space, std::uint64_t seed, double reference_time_us);
  std::string_view name() const override { return "vndx"; }
  Recipe ask() override;
  void tell(const Outcome& outcome) override;
  [[nodiscard]] std::size_t pioneers() const override { return pioneers_; }

  /// In how many of their steps and values two recipes differ.
  [[nodiscard]] static std::size_t distance(const Recipe& a, const Recipe& b);

 private:
  enum class Move {
    kNeighbourValue,  ///< of one parameter, in its domain's order
    kAnyValue,        ///< of one parameter
    kStep,            ///< one more, or one less
  };
  static constexpr std::size_t kMoves = 3;
  using Traits = std::vector<std::size_t>;  ///< hashes of steps and values, sorted
  using Lock = std::unique_lock<std::mutex>;
  struct Point {
    Recipe recipe;
    double time_us = 0;
  };
  struct Evaluated {
    Traits traits;
    double log_time = 0;  ///< a failure's is a slow one
  };
  struct Idea {
    Recipe recipe;
    std::optional<Move> move;  ///< none: no neighbour of the present recipe
  };

  [[nodiscard]] static Traits traits_of(const Recipe& recipe);
  [[nodiscard]] static std::size_t difference(const Traits& a, const Traits& b);

  // These hold the lock, but while they ask the space.
  [[nodiscard]] std::vector<Idea> pool(Lock& lock);
  [[nodiscard]] std::optional<Recipe> neighbour(Lock& lock, const Recipe& of, Move move);
  [[nodiscard]] std::optional<Recipe> other_value(Lock& lock, Recipe recipe, bool neighbour);
  [[nodiscard]] std::optional<Recipe> other_steps(Lock& lock, Recipe recipe);
  [[nodiscard]] Recipe cross();
  [[nodiscard]] Recipe walk(Lock& lock);
  [[nodiscard]] double predicted(const Recipe& recipe) const;
  [[nodiscard]] bool accepts(double time_us);
  void remember(const Outcome& outcome);
  void reward(Move move, bool accepted);
  void restart();

  Space& space_;
  const double reference_time_us_;
  std::size_t pioneers_ = 0;
  std::mutex mutex_;  ///< of what follows
  Random random_;
  std::deque<Recipe> opening_;
  Point present_;
  std::vector<Point> elites_;  ///< the fastest first
  std::deque<Evaluated> evaluated_;
  std::array<double, kMoves> weights_{1, 1, 1};
  double temperature_;
  int rejected_ = 0;  ///< in a row
  std::unordered_set<std::string> asked_;
  std::map<std::string, Move> pending_;  ///< by recipe key
};

}  // namespace hone
