// The survey between hone and an emulate runner:
//   survey  {"op", "programs", "seed"} -> {"surveys"}
// Every `from` checks types and lengths: the other side may lie.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/protocol/messages.h"
#include "evaluator/survey.h"

namespace hone::protocol {

struct SurveyJob {
  std::vector<Runnable> programs;
  std::uint64_t seed = 0;  ///< of the fills
};
[[nodiscard]] nlohmann::json to_message(const SurveyJob& job);
[[nodiscard]] Result<SurveyJob> survey_job_from(const nlohmann::json& message);

/// One for each program of the job.
[[nodiscard]] nlohmann::json to_message(const std::vector<Survey>& surveys);
[[nodiscard]] Result<std::vector<Survey>> surveys_from(const nlohmann::json& message);

}  // namespace hone::protocol
