#include "engine/rewriting/watch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPeriod = std::chrono::milliseconds(50);
constexpr double kForever_s = 1e8;

}  // namespace

RewritingWatch::RewritingWatch(Rewriting& rewriting, const std::atomic<bool>* stop, double limit_s)
    : rewriting_(rewriting) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(std::min(limit_s, kForever_s)));
  thread_ = std::jthread([this, stop, deadline](const std::stop_token& ending) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!ending.stop_requested()) {
      if ((stop != nullptr && *stop) || Clock::now() >= deadline) {
        fired_ = true;
        rewriting_.cancel();
        return;
      }
      wake.wait_for(lock, ending, kPeriod, [] { return false; });
    }
  });
}

RewritingWatch::~RewritingWatch() {
  thread_ = {};
  if (fired_) rewriting_.resume();
}

}  // namespace hone
