// What a worker is asked: one evaluation, whole.
#pragma once

#include <string>
#include <string_view>

#include "engine/queue/messages.h"
#include "evaluator/evaluator.h"

namespace hone::queue {

struct WorkMessage {
  enum class Kind { kAdmit, kEvaluate };
  std::string job;
  std::string id;  ///< of the evaluation; its result repeats both
  Kind kind = Kind::kEvaluate;
  /// Of kAdmit without candidates, where they are empty.
  EvaluationRequest request;
};

/// Sources that several programs share travel once.
[[nodiscard]] Result<std::string> encode(const WorkMessage& message);
[[nodiscard]] Result<WorkMessage> work_from(std::string_view bytes);

}  // namespace hone::queue
