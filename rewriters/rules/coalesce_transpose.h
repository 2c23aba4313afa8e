// coalesce-transpose: a kernel that reads along one axis and writes along the other goes through a
// tile in shared memory, so that neighbouring threads touch neighbouring elements on both sides.
//
//   out[x * H + y] = f(in[y * W + x]);   =>   tile[j][threadIdx.x] = f(in[…]);     // x runs fast
//                                             __syncthreads();
//                                             out[…] = tile[threadIdx.x][j];       // y runs fast
//
// Parameter: rows (the block is 32 x rows, the tile 32 x 32).
//
// Legal when the kernel is declarations, guards and one store, uses thread and block index in x and
// y only as the global coordinates, and store and loads are linear in them. Where a kernel splits a
// single index into row and column (i / W, i % W), these take the place of y and x. Exact.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_coalesce_transpose();

}  // namespace hone
