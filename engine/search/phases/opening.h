// The second phase of a search: makes its strategy, with a language model beside it where one is
// asked, and tells it what an earlier process of the same job was told. Holds all that lives as
// long as the strategy is asked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/rewriting/watch.h"
#include "engine/search/phases/admission.h"
#include "engine/search/phases/llm_side.h"
#include "engine/search/phases/replay.h"
#include "engine/search/phases/run.h"
#include "engine/search/phases/teller.h"
#include "engine/search/phases/telling.h"
#include "engine/search/strategy/known_first.h"
#include "engine/search/strategy/strategy.h"

namespace hone::search {

class Opening {
 public:
  /// All must outlive it.
  Opening(SearchRun& run, Admission& admission, LlmSide& llm);
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  [[nodiscard]] const Telling& telling() const { return *telling_; }
  [[nodiscard]] Strategy& strategy() { return *strategy_; }
  [[nodiscard]] Teller& teller() { return *teller_; }
  [[nodiscard]] Replay& replay() { return replay_; }
  /// Evaluations that the strategy was told of before it is asked for the first time.
  [[nodiscard]] std::int64_t recalled() const { return recalled_; }
  /// When no further candidate is asked for or waited for [s of the plan].
  [[nodiscard]] double search_end() const;
  /// Rewriting is over: the time is up, or the user waits. What it says now is no answer.
  [[nodiscard]] bool rewriting_ended() const { return watch_->fired(); }

 private:
  [[nodiscard]] std::unique_ptr<Strategy> make_strategy(const std::vector<Recipe>& known);
  [[nodiscard]] std::unique_ptr<Strategy> ranked(std::unique_ptr<Strategy> strategy);
  [[nodiscard]] std::int64_t recall();

  SearchRun& run_;
  Admission& admission_;
  LlmSide& llm_;
  const std::unique_ptr<Telling> telling_;
  Replay replay_;
  std::optional<RewritingWatch> watch_;
  std::unique_ptr<Strategy> strategy_;
  const KnownFirst* known_ = nullptr;  ///< part of strategy_; null: nothing is known
  std::optional<Teller> teller_;
  std::int64_t recalled_ = 0;
};

}  // namespace hone::search
