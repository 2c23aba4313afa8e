// What another program of a task may change beside its source, written as a task file writes it:
// {"launches": [...], "scratch": [...]}. Sizes, tunables and the task's buffers are the task's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "candidates/program.h"
#include "candidates/result.h"
#include "candidates/task.h"

namespace hone {

struct LaunchPlan {
  std::optional<std::vector<Launch>> launches;
  std::optional<std::vector<Buffer>> scratch;  ///< all that the task does not have
};

/// `known` are the scratch buffers that launches may name where the plan has no "scratch" of its
/// own. Errors: kInvalidInput, "$.launches[0].args[2]: what is wrong".
[[nodiscard]] Result<LaunchPlan> read_launch_plan(const nlohmann::json& json, const Task& task,
                                                  const std::vector<Buffer>& known);

}  // namespace hone
