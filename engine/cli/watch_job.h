// A submitted job's progress, on the terminal.
#pragma once

#include "engine/cli/command.h"

namespace hone::cli {

/// Shows the job's progress until it ends or Ctrl-C; kDone when it is done, kCheckFailed when it
/// failed or was cancelled. Writes its last state as JSON.
int watch_job(queue::Broker& broker, const std::string& id, const Common& common);

}  // namespace hone::cli
