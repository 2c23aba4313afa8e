// Reductions over small windows: pooling in one to three dimensions, depthwise convolutions.
#pragma once

#include <memory>

#include "rewriters/schedules/generator.h"

namespace hone::schedules {

[[nodiscard]] std::unique_ptr<Generator> make_window();

}  // namespace hone::schedules
