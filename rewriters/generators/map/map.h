// Nests without reductions: elementwise and broadcast.
#pragma once

#include <memory>

#include "rewriters/generators/generator.h"

namespace hone::generators {

[[nodiscard]] std::unique_ptr<Generator> make_map();

}  // namespace hone::generators
