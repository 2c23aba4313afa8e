// generate-contract: matrix products and everything like them, as tiled kernels.
//
//   C[b][m][n] = epilogue(sum over k of A[b][m][k] * B[b][n][k])
//
// for any number of dimensions per letter, any strides, A and B with elementwise work on their
// loads or masks of their own, on the pipes that the math level allows.
#pragma once

#include <memory>

#include "rewriters/schedules/generator.h"

namespace hone::schedules {

[[nodiscard]] std::unique_ptr<Generator> make_contract();

}  // namespace hone::schedules
