// Maps whose loads run along another dim than their stores: tiles turned in shared memory.
#pragma once

#include <memory>

#include "rewriters/generators/generator.h"

namespace hone::generators {

[[nodiscard]] std::unique_ptr<Generator> make_transpose();

}  // namespace hone::generators
