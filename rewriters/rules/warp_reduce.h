// warp-reduce: the tree reduction over a shared array becomes shuffles.
//
//   for (s = blockDim.x / 2; s > 0; s >>= 1) {         const int v = sm[tid];
//     if (tid < s) sm[tid] += sm[tid + s];       =>    shuffles inside each warp; one value per
//     warp
//     __syncthreads();                                 through sm; shuffles inside the first warp
//   }                                                  sm[0] = total
//
// Also with the last warp unrolled after the loop (`for (…; s > 32; …)`, then
// `if (tid < 32) { sm[tid] += sm[tid + 32]; … sm[tid] += sm[tid + 1]; }`), with max, min, and other
// operations, and with several arrays at once.
//
// Legal when the block is one-dimensional, a power of two of at least 64 threads, every thread of
// it reaches the loop, the tree starts at half the block, and of the arrays only element 0 is read
// afterwards before they are written again. Needs `reassociate` for floating sums and products.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_warp_reduce();

}  // namespace hone
