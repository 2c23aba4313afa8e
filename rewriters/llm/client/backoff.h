// How long to wait before a request is sent again.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>

#include "rewriters/llm/client/clock.h"

namespace hone::llm {

/// Doubles from one second to half a minute; each wait is drawn from the upper half, so that many
/// clients do not come back together. Thread-safe.
class Backoff {
 public:
  explicit Backoff(std::uint64_t seed) : random_(seed) {}

  /// `attempt`: how many have failed, from 1.
  [[nodiscard]] Milliseconds wait(int attempt);

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;
};

/// The value of a Retry-After header (RFC 9110, 10.2.3): seconds, or one of the three forms of an
/// HTTP date. Never below zero; no more than a day. Nothing where it is neither.
[[nodiscard]] std::optional<Milliseconds> retry_after(std::string_view value, Clock::Date now);

}  // namespace hone::llm
