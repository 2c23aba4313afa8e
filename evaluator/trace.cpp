#include "evaluator/trace.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace hone {

void trace(std::string_view text) {
  static const bool on = [] {
    const char* value = std::getenv("HONE_TRACE");
    return value != nullptr && *value != '\0' && *value != '0';
  }();
  if (on)
    std::fprintf(stderr, "[hone-runner %d] %.*s\n", getpid(), static_cast<int>(text.size()),
                 text.data());
}

}  // namespace hone
