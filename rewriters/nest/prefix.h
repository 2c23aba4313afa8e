// Reductions up to an element, and the element itself.
#pragma once

#include "rewriters/affine/node.h"

namespace hone::nest {

/// x[j] + (sum over k < j of x[k]), as a loop lifts to, as the sum over k <= j of x[k]: put into
/// another nest it is still one prefix. Likewise from the end, and of "*", "min" and "max".
[[nodiscard]] Ref with_own_elements(Nodes& nodes, Ref value);

}  // namespace hone::nest
