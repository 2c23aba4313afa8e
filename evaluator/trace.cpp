#include "evaluator/trace.h"

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace hone {

void trace(std::string_view text) {
  static const bool on = [] {
    const char* value = std::getenv("HONE_TRACE");
    return value != nullptr && *value != '\0' && *value != '0';
  }();
  if (!on) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // one clock for hone and its children
  std::fprintf(stderr, "[%.3f %d] %.*s\n",
               static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec), getpid(),
               static_cast<int>(text.size()), text.data());
}

}  // namespace hone
