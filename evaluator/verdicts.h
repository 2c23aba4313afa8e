// Short forms for the ends that an evaluation comes to.
#pragma once

#include <string>
#include <utility>

#include "candidates/measurement.h"
#include "candidates/result.h"

namespace hone {

[[nodiscard]] inline std::unexpected<Error> infrastructure(std::string message) {
  return fail(ErrorCode::kInfrastructure, std::move(message));
}
[[nodiscard]] inline std::unexpected<Error> task_failed(std::string message) {
  return fail(ErrorCode::kTaskFailed, std::move(message));
}

[[nodiscard]] inline Evaluation verdict_of(Verdict verdict, std::string detail) {
  Evaluation e;
  e.verdict = verdict;
  e.detail = std::move(detail);
  return e;
}

}  // namespace hone
