#include <fmt/core.h>

#include <csignal>
#include <exception>
#include <string_view>
#include <thread>

#include "engine/cli/command.h"
#include "engine/service/trial_reading.h"
#include "evaluator/runner/list_files.h"

namespace {

constexpr std::string_view kReader = "read-source";  // see trial_reading.h

int run(int argc, char** argv) {
  if (argc == 2 && argv[1] == kReader) return hone::serve_trial_readings();
  if (argc == 3 && std::string_view(argv[1]) == "files" && argv[2] == kReader)
    return hone::runner::list_files(kReader);
  hone::set_thread_stacks(hone::kHoneStack);
  // In a thread, since the first one's stack is as large as the shell says.
  int status = hone::cli::kEnvironmentLacks;
  std::thread([&] {
    try {
      status = hone::cli::run_command_line(argc, argv);
    } catch (const std::exception& error) {
      fmt::print(stderr, "hone: internal error: {}\n", error.what());
    }
  }).join();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that goes away (`hone leaderboard | head`) or a child that dies is an error of a
  // write, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "hone: internal error: {}\n", error.what());
    return hone::cli::kEnvironmentLacks;
  }
}
