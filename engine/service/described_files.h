// Tasks whose inputs come from files, for machines that do not have the files: an imported PyTorch
// module, whose weights lie in its .pt2.
#pragma once

#include <string>
#include <vector>

#include "candidates/task.h"

namespace hone {

/// The task with made-up inputs of the same kind in place of those from files: normal ones of the
/// same mean and standard deviation, uniform ones between the ends where none is negative, integers
/// between the ends; three digits of each. Names of the buffers go to `described`. Errors:
/// kInvalidInput, a file that is missing or shorter than its buffer at the timed sizes.
[[nodiscard]] Result<Task> with_described_files(Task task, std::vector<std::string>& described);

}  // namespace hone
