// The numbers of an evaluation, one by one. Private to engine/queue.
#pragma once

#include <optional>
#include <string>

#include "candidates/measurement.h"

namespace hone::queue::detail {

/// What is no number of any evaluation: not finite, negative, too many of them.
[[nodiscard]] std::optional<std::string> wrong_number(const Evaluation& evaluation);

}  // namespace hone::queue::detail
