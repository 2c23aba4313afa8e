// The messages of `hone check`, in the emulate mode of hone-runner:
//
//   sanitize {"op", …} -> {"verdict", "detail", "findings", "output", …}
#pragma once

#include <nlohmann/json.hpp>

#include "evaluator/protocol/messages.h"
#include "evaluator/sanitize_types.h"

namespace hone::protocol {

struct SanitizeJob {
  std::string arch;
  Runnable runnable;
  std::uint64_t seed = 1;
  std::vector<std::uint64_t> schedule_seeds;
  int max_findings = 50;
  InputSet inputs = InputSet::kOwn;
  NonFinite non_finite = NonFinite::kNever;
  int threads = 1;  ///< that run the blocks of a launch
  double seconds = 60;
};
[[nodiscard]] nlohmann::json to_message(const SanitizeJob& job);
[[nodiscard]] Result<SanitizeJob> sanitize_job_from(const nlohmann::json& message);

[[nodiscard]] nlohmann::json to_message(const SanitizeResult& result);
[[nodiscard]] Result<SanitizeResult> sanitize_result_from(const nlohmann::json& message);

}  // namespace hone::protocol
