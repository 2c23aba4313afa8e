// aggregate-atomics: many atomics on one address become one per warp or block.
//
//   if (i < n) atomicAdd(total, x[i]);   =>   float sum = 0;
//                                             for (…items…) if (i < n) sum += x[i];
//                                             sum = reduction over the block
//                                             if (threadIdx.x == 0) atomicAdd(total, sum);
//
// Parameters: level (block, warp), items (old threads that one new thread does in turn), vec (old
// neighbours in one go, with vector loads), block (threads; used when items or vec exceed 1).
//
// Legal when the address is the same for all threads of a block (of the grid, when the launch
// changes), the result of the atomic is not used, the kernel touches that memory in no other way,
// and threads leave early only by `if (…) return;` at the top level. add, sub, min, max, and, or,
// xor. Needs `reassociate` for floating sums.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_aggregate_atomics();

}  // namespace hone
