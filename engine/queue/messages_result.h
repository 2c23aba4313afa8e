// What a worker answers, and what no honest worker would have.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "candidates/measurement.h"
#include "engine/queue/messages.h"

namespace hone::queue {

struct ResultMessage {
  std::string job;
  std::string id;  ///< as in the WorkMessage
  std::string worker;
  /// Whole, with what the store does not keep.
  Result<Evaluation> evaluation;
};

/// Refuses an evaluation with a number that is not finite, or negative where none can be.
[[nodiscard]] Result<std::string> encode(const ResultMessage& message);
[[nodiscard]] Result<ResultMessage> result_from(std::string_view bytes);

/// Why an evaluator cannot have said this: numbers that contradict each other, or what no device
/// does. `modelled`: the device is an emulated one. Nothing is said of a lie that holds together:
/// only a second measurement can tell.
[[nodiscard]] std::optional<std::string> implausible(const Evaluation& evaluation, bool modelled);

}  // namespace hone::queue
