// A finished Translation as a task file.
#pragma once

#include <optional>
#include <string>

#include "candidates/pytorch/translation.h"
#include "candidates/verdict.h"

namespace hone::pytorch {

/// Task comment and kernels; buffers that nothing uses are left out. No `math`: the tasks' default.
[[nodiscard]] std::string task_text(Translation& translation, const std::string& name,
                                    const std::string& torch_version,
                                    std::optional<MathLevel> math);

}  // namespace hone::pytorch
