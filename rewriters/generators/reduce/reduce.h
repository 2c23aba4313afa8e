// Reductions with too few results to fill the device by rows, or in steps of whole rows: split
// over blocks, then added up.
#pragma once

#include <memory>

#include "rewriters/generators/generator.h"

namespace hone::generators {

[[nodiscard]] std::unique_ptr<Generator> make_reduce();

}  // namespace hone::generators
