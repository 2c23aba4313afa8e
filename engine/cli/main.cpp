#include <malloc.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>

#include "engine/cli/run.h"
#include "engine/results/build_info.h"
#include "engine/rewriting/serve_rewriting.h"
#include "evaluator/runner/list_files.h"
#include "sandbox/kept_programs.h"

extern const char* const kHoneCommit;  // scripts/commit.cmake

namespace {

constexpr std::size_t kStack = 32U << 20;  // tasks and expressions nest, too [B]

constexpr int kLargeBlock = 256 << 10;  // [B]

/// stderr may be gone: a failed write is nobody's business any more.
void report(const std::exception& error) {
  std::fputs("hone: internal error: ", stderr);
  std::fputs(error.what(), stderr);
  std::fputs("\n", stderr);
}

int run(int argc, char** argv) {
  if (argc == 2 && argv[1] == hone::kRewriteMode) {
    prctl(PR_SET_NAME, "hone");  // executed by a descriptor it has none
    return hone::serve_rewriting();
  }
  if (argc == 3 && std::string_view(argv[1]) == "files" && argv[2] == hone::kRewriteMode)
    return hone::runner::list_files(hone::kRewriteMode);
  hone::sandbox::keep_programs({"hone-sandbox", "hone-runner"});
  hone::set_build_commit(kHoneCommit);
  hone::set_thread_stacks(kStack);
  // Programs and messages may be megabytes, in many threads: back to the system with each.
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  // In a thread, since the first one's stack is as large as the shell says.
  int status = hone::cli::kEnvironmentLacks;
  std::thread([&] {
    try {
      status = hone::cli::run_command_line(argc, argv);
    } catch (const std::exception& error) {
      report(error);
    }
  }).join();
  return status;
}

}  // namespace

/// glibc has this function since 2.36, and LLVM's archives call it. It is the only one so new: with
/// one of our own the program also starts on glibc 2.35 (Ubuntu 22.04).
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    if (errno != EINTR) std::abort();  // as glibc's own does
  }
  return bits;
}

int main(int argc, char** argv) {
  // A reader that goes away (`hone leaderboard | head`) or a child that dies is an error of a
  // write, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    report(error);
    return hone::cli::kEnvironmentLacks;
  }
}
