// Other block dimensions for the same threads.
//   grid ceildiv(N, 256), block 256  =>  grid ceildiv(N, 128), block 128
// legal in a dimension where the kernel uses its indices only as blockIdx * blockDim + threadIdx,
// or in grid-stride loops that keep nothing between iterations; and where threads beyond the old
// ones do nothing (a guard against a bound) or none appear. Refused with shared memory, barriers or
// warp operations, and where the block size is written as a number.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_launch_shape();

}  // namespace hone
