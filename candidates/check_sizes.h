// Small sizes for the checks of a task that gives none.
#pragma once

#include <vector>

#include "candidates/task.h"

namespace hone {

/// Up to two sets: the timed sizes cut down to about 64 each (less where that makes large buffers),
/// and an odd variant. Both hold every constraint and every launch. Empty when none was found.
[[nodiscard]] std::vector<Bindings> derive_check_sizes(const Task& task);

/// Likewise, where those take too long to emulate: with `effort` (below 1) of the elements, threads
/// and operations. `with_blocks`: in the first set each launch has two blocks, a full one and a
/// tail, in every dimension in which it has several at the timed sizes. Empty when there are none.
[[nodiscard]] std::vector<Bindings> smaller_check_sizes(const Task& task, double effort,
                                                        bool with_blocks);

/// Whether they are derive_check_sizes()'s and not the user's.
[[nodiscard]] bool has_derived_check_sizes(const Task& task);

/// The first constraint that does not hold at these sizes with the first value of every tunable.
/// `message` says why; the path is "$.constraints[i]".
struct BrokenConstraint {
  std::size_t index = 0;
  std::string message;
};
[[nodiscard]] std::optional<BrokenConstraint> broken_constraint(const Task& task,
                                                                const Bindings& sizes);

}  // namespace hone
