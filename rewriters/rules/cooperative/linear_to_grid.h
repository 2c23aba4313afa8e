// A kernel that takes row and column out of one linear index (i / W, i % W) becomes one with a
// two-dimensional grid. A step on the way for rules that look for x and y.
#pragma once

#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::coop {

/// Blocks of 32 x 8; column < W and i < (old threads) become guards. kRefused when the index is not
/// taken apart by one uniform divisor that every launch passes as a number.
[[nodiscard]] Result<Program> linear_to_grid(const Program& program, const std::string& kernel,
                                             const RewriteContext& context);

}  // namespace hone::rules::coop
