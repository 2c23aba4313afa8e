// Sizes that never change become constants of the kernel.
//   f(float* A, int N) { … }  =>  f(float* A, int N_arg) { constexpr int N = 4096; … }
//   blockDim.x                =>  256u
// legal when the task allows specialised candidates, every launch passes the same value, and the
// parameter is never written. Launches stay as they are; a replay at other sizes bakes those.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_bake_sizes();

}  // namespace hone
