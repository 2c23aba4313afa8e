#include "evaluator/trace.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace hone {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

void trace(std::string_view text) {
  static const bool on = [] {
    const char* value = std::getenv("HONE_TRACE");
    return value != nullptr && *value != '\0' && *value != '0';
  }();
  if (!on) return;
  static std::atomic<double> before = 0;
  const double used = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  std::fprintf(stderr, "[%.3f %d +%.4f] %.*s\n",
               seconds_of(CLOCK_MONOTONIC),  // one clock for hone and its children
               getpid(), used - before.exchange(used), static_cast<int>(text.size()), text.data());
}

}  // namespace hone
