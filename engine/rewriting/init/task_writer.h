// Writes the task for launches that were chosen: buffers with lengths, roles and fills, sizes and
// check sizes, and a note for whatever was guessed.
#pragma once

#include <string>
#include <vector>

#include "engine/rewriting/init/init_task.h"
#include "engine/rewriting/init/pipeline.h"

namespace hone::init {

/// Errors: kInvalidInput, a parameter that no task can pass.
[[nodiscard]] Result<InitResult> write_task(const std::string& path, syntax::WholeUnit& unit,
                                            const std::vector<Stage>& stages,
                                            std::vector<std::string> notes);

}  // namespace hone::init
