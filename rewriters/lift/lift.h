// From a program's text to what it computes.
#pragma once

#include <functional>
#include <string_view>

#include "candidates/program.h"
#include "candidates/result.h"
#include "rewriters/nest/nest.h"

namespace hone::nest {

/// Errors: kRefused, the program does not parse, or its sizes do not fit. A launch that cannot be
/// lifted has its reason in it. Launches of kernels for which `skip` is true are not looked into.
[[nodiscard]] Result<LiftedProgram> lift(
    const Program& program, const Bindings& sizes,
    const std::function<bool(std::string_view kernel)>& skip = nullptr);

}  // namespace hone::nest
