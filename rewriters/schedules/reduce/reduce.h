// Reductions with too few results to fill the device by rows, or in steps of whole rows: split
// over blocks, then added up.
#pragma once

#include <memory>

#include "rewriters/schedules/generator.h"

namespace hone::schedules {

[[nodiscard]] std::unique_ptr<Generator> make_reduce();

}  // namespace hone::schedules
