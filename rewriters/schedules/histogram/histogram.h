// Accumulations into elements that are read from data: histograms, scattered sums.
#pragma once

#include <memory>

#include "rewriters/schedules/generator.h"

namespace hone::schedules {

[[nodiscard]] std::unique_ptr<Generator> make_histogram();

}  // namespace hone::schedules
