// Parts of a tensor as views, by the arguments of the call: `dim`, `start`, `end`, `step`, or
// `index`. For operators that read a part and for those that write one.
#pragma once

#include "candidates/pytorch/operation.h"

namespace hone::pytorch {

/// whole[start:end:step] along a dimension.
[[nodiscard]] Tensor slice_of(Call& call, const Tensor& whole);
/// whole[index] along a dimension, which goes.
[[nodiscard]] Tensor selected(Call& call, const Tensor& whole);

}  // namespace hone::pytorch
