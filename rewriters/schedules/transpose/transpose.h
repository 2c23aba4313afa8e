// Maps whose loads run along another dim than their stores: tiles turned in shared memory.
#pragma once

#include <memory>

#include "rewriters/schedules/generator.h"

namespace hone::schedules {

[[nodiscard]] std::unique_ptr<Generator> make_transpose();

}  // namespace hone::schedules
