// Running reductions along an axis: prefix sums, products, maxima; forward, reverse, exclusive.
#pragma once

#include <memory>

#include "rewriters/schedules/generator.h"

namespace hone::schedules {

[[nodiscard]] std::unique_ptr<Generator> make_scan();

}  // namespace hone::schedules
