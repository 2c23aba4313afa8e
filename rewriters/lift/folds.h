// A carried value after one round, seen as what was before and what the round adds. Internal to
// rewriters/lift.
#pragma once

#include <optional>
#include <string>

#include "rewriters/affine/node.h"

namespace hone::nest {

/// before (op) more.
struct Folded {
  Op op = Op::kAdd;
  Ref more = nullptr;
};

/// Empty: `after` is no fold of `phi`. `more` may still hold other phis.
[[nodiscard]] std::optional<Folded> as_fold(Nodes& nodes, Ref phi, Ref after);

/// Is the phi anywhere in the value?
[[nodiscard]] bool depends(Ref value, Ref phi);

}  // namespace hone::nest
