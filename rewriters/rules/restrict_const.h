// What the kernel promises about its pointers.
//   f(float* A, float* C)  =>  f(const float* __restrict__ A, float* __restrict__ C)
// legal when: const: nothing in the kernel writes through the pointer; __restrict__: no launch
// passes a buffer twice where one of the two is written. The signature is not declared elsewhere.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_restrict_const();

}  // namespace hone
