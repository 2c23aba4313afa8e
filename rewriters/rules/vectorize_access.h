// vectorize-access: one memory instruction for several consecutive elements.
//
// Site "kernel/threads": neighbouring threads become lanes of one, grid.x is divided by `width`.
//   int i = blockIdx.x * blockDim.x + threadIdx.x;   int f = (blockIdx.x * blockDim.x +
//   threadIdx.x) * 4; if (i < n) c[i] = a[i] + b[i];               =>  if (f + 3 < n) {
//                                                      float4 a4 = *(const float4*)&a[f], b4 = …,
//                                                      c4; c4.x = a4.x + b4.x; …
//                                                      *(float4*)&c[f] = c4;
//                                                    } else { the old body for f … f + 3 }
// Legal when threadIdx.x and blockIdx.x are seen only through such an i and threads do not work
// together (no barrier, shuffle, shared memory, fence, spinning): a race-free program may then run
// its threads in any interleaving, also statement by statement. Loops and branches that do not
// depend on i stay one; the `else` part goes when n is a multiple of the width at these sizes.
//
// Site "kernel/loopN": a thread's own loop is strip-mined, order unchanged.
//   for (int k = 0; k < n; ++k) s += a[r + k];   =>  for (int q = 0; q < n / 4 * 4; q += 4) {
//                                                      float4 a4 = *(const float4*)&a[r + q];
//                                                      s += a4.x; s += a4.y; s += a4.z; s += a4.w;
//                                                    }
//                                                    for (int k = n / 4 * 4; k < n; ++k) s += a[r +
//                                                    k];
// Legal when the body has no loop, jump or barrier; an access moves only if nothing else in the
// body may touch its elements.
//
// In both, an access becomes a vector only when every thread or iteration makes it and its address
// is a multiple of the vector at these sizes (parameters replaced by their values); others stay
// scalar, so that a recipe replays at sizes where nothing is aligned. Values do not change:
// MathLevel::kExact, atomics aside, whose order was never defined.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_vectorize_access();

}  // namespace hone
