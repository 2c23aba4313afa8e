// Reductions over small windows: pooling in one to three dimensions, depthwise convolutions.
#pragma once

#include <memory>

#include "rewriters/generators/generator.h"

namespace hone::generators {

[[nodiscard]] std::unique_ptr<Generator> make_window();

}  // namespace hone::generators
