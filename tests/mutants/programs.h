// The right programs that are mutated: each baseline, and hone's own rewritten version of it.
#pragma once

#include <string>
#include <vector>

#include "candidates/program.h"
#include "candidates/result.h"
#include "candidates/task.h"

namespace hone::mutants {

/// The baselines' names, sorted.
[[nodiscard]] std::vector<std::string> task_names();
[[nodiscard]] Result<Task> task_of(const std::string& name);

struct RightProgram {
  std::string name;  ///< "reference", "rewritten"
  Program program;
};

/// The reference and programs/<task>.cu. The latter is kept as text, not made anew: a mutant that
/// is proven equivalent must stay the one that it was. HONE_UPDATE_GOLDEN=1 writes it from
/// programs/<task>.recipe.json, at the task's last check size, where nothing divides anything; one
/// without a recipe is edited by hand.
[[nodiscard]] Result<std::vector<RightProgram>> right_programs(const std::string& name,
                                                               const Task& task);

}  // namespace hone::mutants
