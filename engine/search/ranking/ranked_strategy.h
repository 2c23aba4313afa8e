// A strategy that draws more than it sends: of several recipes of another strategy, rewritten but
// not compiled, the one that a model takes for the fastest.
//
//   rest.ask() x kDraws ─► rewritten ─► predicted ─► the pool ─► the best is sent
//                                                       └─► the others wait for the next turn
//
// What rules make of a language model's program is sent as it comes. Some turns send what was
// drawn, whatever the model says, so that the strategy learns of places that the model does not
// know. What was measured judges the model: where it orders pairs of candidates no better than a
// coin, it is not asked any more. One thread that asks and tells in order gets the same recipes for
// the same seed. Thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/search/random.h"
#include "engine/search/ranking/ranker.h"
#include "engine/search/strategy/strategy.h"

namespace hone {

class RankedStrategy final : public Strategy {
 public:
  /// `space` must outlive it, and answers with hashes where its options ask for them.
  RankedStrategy(std::unique_ptr<Strategy> rest, std::unique_ptr<ranking::Ranker> ranker,
                 Space& space, std::uint64_t seed);
  [[nodiscard]] std::string_view name() const override { return rest_->name(); }
  Recipe ask() override;
  void tell(const Outcome& outcome) override;
  [[nodiscard]] std::size_t pioneers() const override { return rest_->pioneers(); }
  /// The model is asked: it has not been found to be wrong.
  [[nodiscard]] bool trusts() const;

  static constexpr int kDraws = 4;          ///< for each that is sent
  static constexpr double kUnranked = 0.5;  ///< of the turns

 private:
  struct Drawn {
    Recipe recipe;
    std::string key, hash;
    double predicted = 0;  // log(time) up to a constant
    bool first = false;    ///< one of the strategy's first recipes
  };
  struct Told {
    double predicted = 0, log_time = 0;
  };
  /// Empty: it does not rewrite, or cannot be ranked. Nobody holds the lock.
  [[nodiscard]] std::optional<Drawn> drawn(const Recipe& recipe) const;
  // These hold the lock.
  [[nodiscard]] Recipe sent(std::size_t at);
  [[nodiscard]] int draws_wanted();
  [[nodiscard]] std::optional<std::size_t> first_waiting() const;
  void judge(Told told);

  static constexpr std::size_t kPool = 16;
  static constexpr std::size_t kJudgedBy = 64, kJudgedFrom = 16;  // candidates
  static constexpr double kCoin = 0.55;                           // of pairs in the right order
  const std::unique_ptr<Strategy> rest_;
  const std::unique_ptr<ranking::Ranker> ranker_;
  Space& space_;
  mutable std::mutex mutex_;  ///< of what follows
  Random random_;
  std::size_t drawn_ = 0;
  std::vector<Drawn> pool_;                          ///< in the order of drawing
  std::unordered_map<std::string, double> pending_;  ///< predictions, by recipe key
  std::unordered_set<std::string> seen_;             ///< hashes of programs
  std::deque<Told> told_;
  bool trusts_ = true;
};

}  // namespace hone
