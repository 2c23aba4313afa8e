// The user's own tuning macros, searched like any other step.
//   -DBLOCK=64  =>  -DBLOCK=128
// legal when every value is in the task's list and all constraints that name a tunable hold at the
// sizes. One site, "task", with one parameter per tunable.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_tunables();

}  // namespace hone
