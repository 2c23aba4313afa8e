#include "engine/search/phases/teller.h"

#include <fmt/core.h>

namespace hone::search {

void Teller::tell(const Candidate& candidate) {
  llm_.listen();
  const Evaluation& evaluation = candidate.evaluation;
  Outcome outcome = run_.findings.enter(candidate);
  if (!outcome.duplicate) run_.outcome.pace.gates += evaluation.gates;
  if (evaluation.faster_than_roof && !evaluation.screened) warn_of_alarm(candidate);
  if (candidate.is(Candidate::State::kEvaluated) && !evaluation.screened)
    run_.journal.put(candidate.record, evaluation);
  if (run_.options.settings.budget.evaluations == 0)
    outcome.cost = evaluation.gates.check + evaluation.gates.measure;
  llm_.told(candidate);
  strategy_.tell(outcome);
}

/// Once in a search.
void Teller::warn_of_alarm(const Candidate& candidate) {
  if (alarmed_) return;
  alarmed_ = true;
  run_.outcome.warnings.push_back(fmt::format("candidate {} is not believed: {}",
                                              candidate.hash().substr(0, 12),
                                              candidate.evaluation.detail));
}

}  // namespace hone::search
