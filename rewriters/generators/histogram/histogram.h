// Accumulations into elements that are read from data: histograms, scattered sums.
#pragma once

#include <memory>

#include "rewriters/generators/generator.h"

namespace hone::generators {

[[nodiscard]] std::unique_ptr<Generator> make_histogram();

}  // namespace hone::generators
