// A finished Translation as a task file.
#pragma once

#include <string>

#include "candidates/pytorch/translation.h"

namespace hone::pytorch {

/// Task comment and kernels; buffers that nothing uses are left out.
[[nodiscard]] std::string task_text(Translation& translation, const std::string& name,
                                    const std::string& torch_version);

}  // namespace hone::pytorch
