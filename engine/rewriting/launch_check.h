// What can be said about a task before anything runs: do the launches fit the kernels?
#pragma once

#include "candidates/program.h"
#include "candidates/result.h"

namespace hone {

/// Parses the source and compares every launch with the kernel's signature: the kernel exists (a
/// near name is suggested), the argument count matches, buffers go to pointers of their element
/// type, numbers to scalars. kRefused: our parser cannot read the source, which NVRTC may yet
/// accept. kInvalidInput names `path` and the JSON path
/// ("$.launches[0].args[2]").
[[nodiscard]] Result<void> validate_launches(const Program& program, const std::string& path);

}  // namespace hone
