// For the message readers: assign a checked field or return its error, and the error of a message
// that says something impossible.
#pragma once

#include <string>

#include "candidates/result.h"

#define HONE_TAKE(target, expression)                             \
  do {                                                            \
    auto taken = (expression);                                    \
    if (!taken) return std::unexpected(std::move(taken.error())); \
    target = std::move(*taken);                                   \
  } while (false)

namespace hone::protocol {

[[nodiscard]] inline std::unexpected<Error> malformed(const char* what) {
  return fail(ErrorCode::kInfrastructure, std::string("runner protocol: malformed ") + what);
}

}  // namespace hone::protocol
