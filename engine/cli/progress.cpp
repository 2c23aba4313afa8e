#include "engine/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "engine/cli/command.h"

namespace hone::cli {

ProgressPrinter::ProgressPrinter(const Budget& budget, bool quiet)
    : budget_(budget), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressPrinter::show(const Progress& progress) {
  if (quiet_) return;
  const bool news = progress.phase != last_phase_ || progress.best_time_us != last_best_us_;
  const double period = terminal_ ? 0.2 : news ? 1.0 : 10.0;
  if (progress.phase == last_phase_ && progress.elapsed_s - last_s_ < period) return;
  last_s_ = progress.elapsed_s;
  last_best_us_ = progress.best_time_us;
  last_phase_ = progress.phase;

  std::string line;
  if (progress.phase == Phase::kAdmit) {
    line = "checking the reference";
  } else if (progress.phase == Phase::kCeilings) {
    line = "measuring what this GPU reaches (once)";
  } else if (progress.phase == Phase::kFinal) {
    line = "timing the finalists";
  } else {
    const auto evaluated = progress.counts.evaluated();
    line = fmt::format("{} evaluated", evaluated);
    if (progress.best_time_us > 0) {
      line += fmt::format(", best {} ({:.2f}x: {})", format_time(progress.best_time_us),
                          progress.reference_time_us / progress.best_time_us, progress.best_recipe);
    }
    if (budget_.seconds > 0) {
      line += fmt::format(", {:.0f} s left", std::max(0.0, budget_.seconds - progress.elapsed_s));
    } else {
      line += fmt::format(", {} left", std::max<std::int64_t>(0, budget_.evaluations - evaluated));
    }
  }
  if (terminal_) {
    if (line.size() > 110) line = line.substr(0, 107) + "...";
    fmt::print(stderr, "\r\033[K{}", line);
    line_open_ = true;
  } else {
    fmt::print(stderr, "[{:6.1f} s] {}\n", progress.elapsed_s, line);
  }
  std::fflush(stderr);
}

void ProgressPrinter::finish() {
  if (line_open_) fmt::print(stderr, "\r\033[K");
  line_open_ = false;
}

}  // namespace hone::cli
