// How far the compiler unrolls a loop.
//   for (...)  =>  #pragma unroll F
//                  for (...)
// always legal (the order of operations stays); offered for canonical loops. `full` only where the
// trip count is a small compile-time constant. A factor of 1 keeps the compiler from unrolling the
// loop, so it is a change unless the loop's pragma says so already; of a large body without a
// pragma it is not offered: NVRTC 13.0 gave the same machine code in 36 of 36 generated kernels.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_unroll();

}  // namespace hone
