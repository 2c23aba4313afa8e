// Ends what waits for a Rewriting when the user wants it to end, or when time is up.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "engine/rewriting/rewriting.h"

namespace hone {

/// While it lives a thread looks at `stop` (may be null) and the clock, and cancels `rewriting`
/// once. The end of it lets `rewriting` go on. Time in which nobody could go on does not count:
/// `paused_s` says how much there was so far [s]; empty: none.
class RewritingWatch {
 public:
  RewritingWatch(Rewriting& rewriting, const std::atomic<bool>* stop, double limit_s,
                 std::function<double()> paused_s = {});
  ~RewritingWatch();
  [[nodiscard]] bool fired() const { return fired_; }
  /// As when time is up: nobody wants the answers any more.
  void fire();

 private:
  Rewriting& rewriting_;
  std::atomic<bool> fired_ = false;
  std::jthread thread_;
};

}  // namespace hone
