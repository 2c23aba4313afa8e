// Keeps a broken endpoint from costing every caller its timeouts: after some failed exchanges in a
// row it counts as down, and callers hear so at once. After a while one of them may probe it.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "rewriters/llm/client/clock.h"

namespace hone::llm {

/// Thread-safe. Every admitted caller ends with one of succeeded(), failed() and abandoned(), and
/// says whether it was the probe.
class Breaker {
 public:
  struct Admission {
    bool admitted = false;
    bool probe = false;      ///< one attempt, no retries
    Milliseconds again{0};   ///< not admitted: when a probe may be tried
    std::string last_error;  ///< not admitted: why it counts as down
  };

  /// `failures` in a row open it, for `first_pause`; each failed probe doubles that, up to
  /// `longest`.
  Breaker(Clock& clock, int failures, Milliseconds first_pause, Milliseconds longest);

  [[nodiscard]] Admission enter();
  /// Zero: somebody may try.
  [[nodiscard]] Milliseconds down_for() const;
  void succeeded();
  /// `pause`: how long the server asked to be left alone; opens it at once, for `longest` at most.
  void failed(bool probe, std::string error, std::optional<Milliseconds> pause = std::nullopt);
  void abandoned(bool probe);  ///< cancelled or out of budget: says nothing about the endpoint

 private:
  void open_for(Milliseconds pause);
  [[nodiscard]] Milliseconds time_left() const;

  Clock& clock_;
  const int threshold_;
  const Milliseconds first_pause_, longest_;
  mutable std::mutex mutex_;
  int failures_ = 0;
  bool open_ = false, probing_ = false;
  Milliseconds pause_{0};
  Clock::Time until_;
  std::string last_error_;
};

}  // namespace hone::llm
