// Moves the threads of a one-dimensional view of a launch: several new threads stand for one old
// one. The old indices are derived anew from the number of the old thread.
#pragma once

#include <string>

#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::coop {

/// Replaces every builtin index and extent of the kernel. `group` names an unsigned variable: the
/// old thread's number, blocks along x outermost, then threadIdx z, y, x. `grid_x` is the text for
/// the old gridDim.x. blockIdx.y and .z stay as they are.
void rederive(Patch& patch, const ThreadIndex& index, const Dim3& block, const std::string& group,
              const std::string& grid_x);

}  // namespace hone::rules::coop
