// privatize-atomics: atomics on a small table go to a copy per block in shared memory first.
//
//   atomicAdd(&counts[bin], 1);   =>   __shared__ int table[copies][bins]; cleared; barrier
//                                      for (…items…) atomicAdd(&table[copy][bin], 1);
//                                      barrier; for (b…) atomicAdd(&counts[b], sum of the copies);
//
// Parameters: copies (tables per block; neighbouring lanes use different ones), items (old threads
// that one new thread does in turn), vec (old neighbours in one go, with vector loads), block
// (threads; used when items or vec exceed 1).
//
// Legal when the table is a whole buffer whose size is known and fits into shared memory, results
// of the atomics are not used, the kernel touches the table in no other way than by one kind of
// atomic, and threads leave early only by `if (…) return;` at the top level. Needs `reassociate`
// for floats.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_privatize_atomics();

}  // namespace hone
