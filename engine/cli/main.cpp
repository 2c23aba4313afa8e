#include <fmt/core.h>

#include <csignal>
#include <exception>

#include "engine/cli/command.h"

int main(int argc, char** argv) {
  // A reader that goes away (`hone leaderboard | head`) or a child that dies is an error of a
  // write, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return hone::cli::run_command_line(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "hone: internal error: {}\n", error.what());
    return hone::cli::kEnvironmentLacks;
  }
}
