#include "engine/rewriting/watch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPeriod = std::chrono::milliseconds(50);
constexpr double kForever_s = 1e8;

}  // namespace

RewritingWatch::RewritingWatch(Rewriting& rewriting, const std::atomic<bool>* stop, double limit_s,
                               std::function<double()> paused_s)
    : rewriting_(rewriting) {
  const auto as_duration = [](double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  const auto deadline = Clock::now() + as_duration(std::min(limit_s, kForever_s));
  const double before_s = paused_s ? paused_s() : 0;
  thread_ = std::jthread([this, stop, deadline, paused_s = std::move(paused_s), before_s,
                          as_duration](const std::stop_token& ending) {
    const auto over = [&] {
      return Clock::now() >= deadline + as_duration(paused_s ? paused_s() - before_s : 0);
    };
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!ending.stop_requested()) {
      if ((stop != nullptr && *stop) || over()) {
        fired_ = true;
        rewriting_.cancel();
        return;
      }
      wake.wait_for(lock, ending, kPeriod, [] { return false; });
    }
  });
}

void RewritingWatch::fire() {
  thread_ = {};
  fired_ = true;
  rewriting_.cancel();
}

RewritingWatch::~RewritingWatch() {
  thread_ = {};
  if (fired_) rewriting_.resume();
}

}  // namespace hone
