#include "engine/search/ranking/ranked_strategy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rewriters/llm/model_steps.h"

namespace hone {

RankedStrategy::RankedStrategy(std::unique_ptr<Strategy> rest,
                               std::unique_ptr<ranking::Ranker> ranker, Space& space,
                               std::uint64_t seed)
    : rest_(std::move(rest)), ranker_(std::move(ranker)), space_(space), random_(~seed) {}

std::optional<RankedStrategy::Drawn> RankedStrategy::drawn(const Recipe& recipe) const {
  const auto rewritten = space_.rewritten(recipe);
  if (!rewritten) return std::nullopt;
  const auto predicted = ranker_->predict(rewritten->program);
  if (!predicted) return std::nullopt;
  return Drawn{recipe, recipe_key(recipe), rewritten->hash, *predicted};
}

/// Of the first recipes none is left out: once there is a choice, one for each that is sent.
int RankedStrategy::draws_wanted() {
  const bool opening = drawn_ < rest_->pioneers();
  if (!opening) return kDraws;
  return std::max(1, kDraws - static_cast<int>(pool_.size()));
}

Recipe RankedStrategy::ask() {
  int draws = 0;
  bool ranked = true;
  {
    const std::lock_guard lock(mutex_);
    if (const auto first = first_waiting()) return sent(*first);
    if (trusts_) draws = draws_wanted();
    ranked = draws > 0 && !random_.chance(kUnranked);
  }
  if (draws == 0) return rest_->ask();
  Recipe last;
  bool first = true;
  for (int i = 0; i < draws; ++i) {
    last = rest_->ask();
    // Trained on what rules make, it knows nothing of what a language model writes.
    if (has_model_step(last)) return last;
    auto made = drawn(last);
    if (!made) return last;  // who asks finds out why, and tells
    const std::lock_guard lock(mutex_);
    made->first = drawn_++ < rest_->pioneers();
    const bool is_new = made->hash.empty() || seen_.insert(made->hash).second;
    if (!is_new) continue;
    pool_.push_back(std::move(*made));
    if (!ranked && first) return sent(pool_.size() - 1);
    first = false;
  }
  const std::lock_guard lock(mutex_);
  if (pool_.empty()) return last;
  const auto best = std::ranges::min_element(pool_, {}, &Drawn::predicted);
  return sent(static_cast<std::size_t>(best - pool_.begin()));
}

/// Of the first recipes that wait, once there are no more to come, or nobody trusts the model.
std::optional<std::size_t> RankedStrategy::first_waiting() const {
  if (trusts_ && drawn_ < rest_->pioneers()) return std::nullopt;
  const auto first = std::ranges::find_if(pool_, &Drawn::first);
  if (first == pool_.end()) return std::nullopt;
  return static_cast<std::size_t>(first - pool_.begin());
}

Recipe RankedStrategy::sent(std::size_t at) {
  Drawn drawn = std::move(pool_[at]);
  pool_.erase(pool_.begin() + static_cast<std::ptrdiff_t>(at));
  const bool opening = drawn_ < rest_->pioneers();
  while (!opening && pool_.size() > kPool)
    pool_.erase(std::ranges::max_element(pool_, {}, &Drawn::predicted));
  pending_[drawn.key] = drawn.predicted;
  return std::move(drawn.recipe);
}

void RankedStrategy::tell(const Outcome& outcome) {
  {
    const std::lock_guard lock(mutex_);
    const auto pending = pending_.find(recipe_key(outcome.recipe));
    if (pending != pending_.end()) {
      const bool timed =
          outcome.verdict == Verdict::kOk && outcome.time_us > 0 && !outcome.duplicate;
      if (timed) judge({pending->second, std::log(outcome.time_us)});
      pending_.erase(pending);
    }
  }
  rest_->tell(outcome);
}

void RankedStrategy::judge(Told told) {
  told_.push_back(told);
  if (told_.size() > kJudgedBy) told_.pop_front();
  if (told_.size() < kJudgedFrom) return;
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < told_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double slower = told_[i].log_time - told_[j].log_time;
      const double expected = told_[i].predicted - told_[j].predicted;
      if (slower == 0 || expected == 0) continue;
      ++pairs;
      if ((slower > 0) == (expected > 0)) ++right;
    }
  }
  trusts_ = trusts_ && (pairs == 0 || right / pairs >= kCoin);
}

bool RankedStrategy::trusts() const {
  const std::lock_guard lock(mutex_);
  return trusts_;
}

}  // namespace hone
