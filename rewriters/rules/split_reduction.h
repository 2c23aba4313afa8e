// split-reduction: lanes share the loops of a kernel in which one thread computes one output.
//
//   int row = blockIdx.x * blockDim.x + threadIdx.x;      const int lane = threadIdx.x % 32;
//   if (row < M) {                                        const unsigned group = …;  // old thread
//     float acc = 0;                                      if (group < M) {
//     for (int k = 0; k < K; ++k)                    =>     float acc = 0;
//       acc += A[row * K + k] * x[k];                       for (int k = lane; k < K; k += 32) …
//     y[row] = acc;                                         acc = butterfly sum over the 32 lanes
//   }                                                       if (lane == 0) y[group] = acc;
//                                                         }
//
// Parameters: lanes (2..32 within a warp, 64..1024 the whole block), block (threads, for lanes <=
// 32), nest (outer or inner loops, where they nest), vec (loads and stores of 2 or 4 elements),
// mode (row; column: lanes lie along threadIdx.y and threads along x keep reading neighbouring
// columns).
//
// Legal when the kernel's threads are independent (no barriers, shuffles, shared memory), the
// shared loops carry nothing but reductions (sum, product, max, min, bit and logical operations),
// every iteration stores to places of its own, and other stores are statements of their own. All
// lanes of a group then hold the same values outside the loops, so that control flow stays uniform
// in it. Needs `reassociate` for floating sums and products.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_split_reduction();

}  // namespace hone
