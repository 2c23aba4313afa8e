// Nests without reductions: elementwise and broadcast.
#pragma once

#include <memory>

#include "rewriters/schedules/generator.h"

namespace hone::schedules {

[[nodiscard]] std::unique_ptr<Generator> make_map();

}  // namespace hone::schedules
