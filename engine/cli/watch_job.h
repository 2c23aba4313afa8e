// A submitted job's progress, on the terminal.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/command.h"
#include "engine/service/job_view.h"

namespace hone::cli {

/// How the job stands, in one or two lines: a line for each of up to two architectures, of more a
/// sum and the best. "queued, 3rd in line", "emu:sm_90 searching: 12 s of 60 s, 41 evaluated, …".
[[nodiscard]] std::vector<std::string> watch_lines(const JobView& job);

/// What it came to, as its task's board shows it: a row for each architecture.
[[nodiscard]] std::string result_rows(const JobView& job);

/// Shows the job's progress until it ends or Ctrl-C: in place on a terminal, elsewhere a line when
/// something changes, or every ten seconds. kDone when it is done, kCheckFailed when it failed or
/// was cancelled. `id` is whole; `redis` is for commands that it tells. Writes its last state as
/// JSON.
int watch_job(queue::Broker& broker, const std::string& id, const RedisOptions& redis,
              const Common& common);

}  // namespace hone::cli
