#include "engine/search/phases/findings.h"

#include <utility>

namespace hone::search {

void Findings::know_reference(const std::string& hash, double time_us) {
  reference_time_us_ = time_us;
  known_[hash] = {Verdict::kOk, time_us};
}

std::optional<Findings::Known> Findings::known(const std::string& hash) const {
  const auto found = known_.find(hash);
  if (found == known_.end()) return std::nullopt;
  return found->second;
}

double Findings::time_to_beat_us() const {
  return best_.empty() ? reference_time_us_ : best_.time_us();
}

void Findings::forget(const Candidate& candidate) {
  --counts.proposed;
  in_flight_.erase(candidate.hash());
}

Outcome Findings::enter(const Candidate& candidate) {
  using State = Candidate::State;
  Outcome outcome{.recipe = candidate.recipe, .stranger = candidate.stranger};
  if (candidate.is(State::kRepeated)) {
    enter_repeated(candidate, outcome);
    return outcome;
  }
  if (candidate.evaluation.screened) {
    enter_screened(candidate, outcome);
    return outcome;
  }
  outcome.verdict = candidate.evaluation.verdict;
  outcome.time_us = candidate.evaluation.measurement.time_us;
  ++counts.verdicts[static_cast<std::size_t>(outcome.verdict)];
  if (candidate.evaluation.outpaced) ++counts.outpaced;
  if (candidate.has_evaluation()) {
    enter_evaluated(candidate, outcome);
  } else {
    ++fruitless_;
  }
  if (candidate.is(State::kRefusedLater)) {
    ++refused_later_;
    in_flight_.erase(candidate.hash());
  }
  return outcome;
}

void Findings::enter_repeated(const Candidate& candidate, Outcome& outcome) {
  ++counts.duplicate;
  ++fruitless_;
  outcome.duplicate = true;
  // Another recipe for the same program may have been refused at a check size: then none is known.
  const Known earlier = known(candidate.hash()).value_or(Known{Verdict::kRefused, 0});
  outcome.verdict = earlier.verdict;
  outcome.time_us = earlier.time_us;
}

/// Left out by the time model: the strategy is told what the model's time means.
void Findings::enter_screened(const Candidate& candidate, Outcome& outcome) {
  ++counts.screened;
  outcome.verdict = Verdict::kOk;
  outcome.time_us = prescreen.expected_us(candidate.evaluation.modelled_us);
  tell(candidate, outcome);
}

void Findings::enter_evaluated(const Candidate& candidate, Outcome& outcome) {
  tell(candidate, outcome);
  if (outcome.verdict != Verdict::kOk) return;
  prescreen.learn(candidate.evaluation.modelled_us, outcome.time_us);
  if (best_.add(contender_of(candidate.record, candidate.evaluation)))
    best_recipe_ = names_of(candidate.recipe);
}

void Findings::tell(const Candidate& candidate, const Outcome& outcome) {
  fruitless_ = 0;
  known_[candidate.hash()] = {outcome.verdict, outcome.time_us};
  in_flight_.erase(candidate.hash());
}

}  // namespace hone::search
