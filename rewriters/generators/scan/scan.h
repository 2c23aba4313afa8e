// Running reductions along an axis: prefix sums, products, maxima; forward, reverse, exclusive.
#pragma once

#include <memory>

#include "rewriters/generators/generator.h"

namespace hone::generators {

[[nodiscard]] std::unique_ptr<Generator> make_scan();

}  // namespace hone::generators
