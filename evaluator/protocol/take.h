// For the message readers: assign a checked field or return its error.
#pragma once

#define HONE_TAKE(target, expression)                             \
  do {                                                            \
    auto taken = (expression);                                    \
    if (!taken) return std::unexpected(std::move(taken.error())); \
    target = std::move(*taken);                                   \
  } while (false)
