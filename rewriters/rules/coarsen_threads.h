// coarsen-threads: one thread computes several outputs.
//
//   one thread per (row, col), grid (gx, gy), loops around A[row*K+k] * B[k*N+col]
// =>
//   one thread per y rows and x columns, grid (gx/x, gy/y), acc[y][x], loops jammed:
//   for k: for jy: for jx: acc[jy][jx] += A[row(jy)*K+k] * B[k*N+col(jx)]
//
// The replicas of a thread lie blockDim apart (run = 1: accesses stay coalesced) or in runs of
// neighbours (run = 2, 4: shared-memory reads can be vectors). Values that do not depend on the
// replica are computed once.
//
// Legal when the threads of the kernel are independent: no barriers, shared memory or warp
// operations, so that any interleaving of them is one that the reference may already show; loops
// are jammed only when their control does not depend on the replica. A grid that the factor does
// not divide needs a guard that closes the axis (see common/guard.h).
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_coarsen_threads();

}  // namespace hone
