// How many registers a thread may take, said through the blocks that should fit on an SM.
//   __global__ void f(…)  =>  __global__ void __launch_bounds__(threads, min_blocks) f(…)
// legal when every launch of the kernel has at most `threads` threads per block at these sizes, and
// min_blocks blocks fit on an SM. Replaces an earlier __launch_bounds__.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_launch_bounds();

}  // namespace hone
