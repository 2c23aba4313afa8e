// About how long a task's reference takes on a large GPU, to choose timed sizes: bytes over
// bandwidth or threads times loop trips over issue rate, whichever is more. A factor of three off.
#pragma once

#include <optional>
#include <string>

namespace hone::init {

/// Of a task file's text. Empty: the task is not valid at its sizes.
[[nodiscard]] std::optional<double> estimated_us(const std::string& task_text,
                                                 const std::string& path);

}  // namespace hone::init
