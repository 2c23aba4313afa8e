// Tasks and programs as others may see them: of the files that they name only the names. Where
// those lie on somebody's machine is nobody's business elsewhere.
#pragma once

#include "candidates/task.h"

namespace hone {

[[nodiscard]] Program without_folders(Program program);
[[nodiscard]] Task without_folders(Task task);

}  // namespace hone
