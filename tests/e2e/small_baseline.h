// Baselines at timed sizes that take the emulator a second, for tests of what becomes of a
// candidate, whichever it is.
#pragma once

#include <string>

#include "tests/e2e/process.h"

namespace hone::testing {

/// The path of the baseline's task, written into `folder` with small timed sizes.
[[nodiscard]] std::string small_baseline(const TemporaryFolder& folder, const std::string& name);

}  // namespace hone::testing
