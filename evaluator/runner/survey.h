// Runs a few blocks of each launch of a program and extrapolates what all of them would take and
// touch. See evaluator/survey.h.
#pragma once

#include <vector>

#include "evaluator/protocol/survey_messages.h"
#include "evaluator/runner/reference_runs.h"

namespace hone::runner {

/// One for each program. `kept`: for its modules.
[[nodiscard]] std::vector<Survey> survey(const protocol::SurveyJob& job, ReferenceRuns& kept);

}  // namespace hone::runner
