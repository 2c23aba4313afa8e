// shared-pad: rows of a shared array get extra elements, so that a warp that walks down a column
// meets distinct banks.
//
//   __shared__ float tile[32][32];  …tile[threadIdx.x][k]…
// =>
//   __shared__ float tile[32][33];
//
// Legal when every use of the array names one element by all its subscripts: no decay to a
// pointer, no cast, no sizeof. Padding never changes a value, only addresses.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_shared_pad();

}  // namespace hone
