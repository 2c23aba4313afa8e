// Ctrl-C: the first asks the command to finish with what it has, the second ends the process.
#pragma once

#include <atomic>

namespace hone::cli {

/// Installs the handler for SIGINT and SIGTERM; the flag is set by the first signal.
[[nodiscard]] const std::atomic<bool>& watch_interrupts();

}  // namespace hone::cli
