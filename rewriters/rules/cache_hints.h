// cache-hints: tells the caches how a buffer is used.
//
//   before                        after (hint = ldg | ldcs | ldcg)      (hint = stcs | stcg)
//   float v = x[i];               float v = __ldg(&x[i]);
//   y[i] = v;                                                           __stcs(&y[i], v);
//
// Site: "kernel/parameter", one per pointer parameter, all of its accesses at once. Legal when
// every use of the parameter (and of pointers made from it) is a plain whole-element access of one
// kind: only reads, or only `=` stores whose value is not used further. `ldg` (the non-coherent
// path) besides when nothing in the kernel can write that buffer, through this or an aliasing
// pointer. Values do not change: MathLevel::kExact.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_cache_hints();

}  // namespace hone
