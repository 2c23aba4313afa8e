// The command line as a function.
#pragma once

namespace hone::cli {

enum ExitStatus {
  kDone = 0,
  kCheckFailed = 1,  ///< the task or the candidate failed its checks
  kUsage = 2,        ///< wrong usage or input
  kEnvironmentLacks = 3,
};
/// Parses the command line and runs one command; returns the exit status.
int run_command_line(int argc, char** argv);

}  // namespace hone::cli
