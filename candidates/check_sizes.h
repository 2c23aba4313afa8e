// Small sizes for the checks of a task that gives none. Private to candidates/.
#pragma once

#include <vector>

#include "candidates/task.h"

namespace hone {

/// Up to two sets: the timed sizes cut down to about 64 each (less where that makes large buffers),
/// and an odd variant. Both hold every constraint and every launch. Empty when none was found.
[[nodiscard]] std::vector<Bindings> derive_check_sizes(const Task& task);

/// The first constraint that does not hold at these sizes with the first value of every tunable.
/// `message` says why; the path is "$.constraints[i]".
struct BrokenConstraint {
  std::size_t index = 0;
  std::string message;
};
[[nodiscard]] std::optional<BrokenConstraint> broken_constraint(const Task& task,
                                                                const Bindings& sizes);

}  // namespace hone
