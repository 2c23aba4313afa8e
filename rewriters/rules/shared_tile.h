// shared-tile: loads that the threads of a block share are staged through shared memory.
//
//   for (k = lo; k < hi; ++k) acc += A[row*K + k] * B[k*N + col];
// =>
//   for (k0 = lo; k0 < hi; k0 += TK) {
//     A_tile[kk][w] = A[…]; B_tile[kk][w] = B[…];     // all threads, neighbours on neighbours
//     __syncthreads();
//     for (kk < TK) acc += A_tile[kk][threadIdx.y] * B_tile[kk][threadIdx.x];
//     __syncthreads();
//   }
//   the original loop for what TK leaves over
//
// Guards around the loop are flattened first (common/guard.h). Legal when all threads of a block
// run the loop with the same bounds, and the buffer is not written by the kernel. A load is staged
// when its index is a sum of block-uniform terms and of terms with one thread, replica or loop
// symbol each (common/tile_plan.h), and the tile is read more often than it is filled or filled
// with better coalescing than the loads had.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_shared_tile();

}  // namespace hone
