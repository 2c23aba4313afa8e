#include "engine/search/phases/flight_limit.h"

#include <algorithm>

namespace hone::search {
namespace {

constexpr std::size_t kLeast = 6;
/// The first ones tell how many are prepared while one is measured; and so long may wait [s].
constexpr int kFirst = 6;
constexpr double kFirstWait_s = 1;
/// Candidates that wait at a GPU before one that comes: with fewer it may idle before the next is
/// compiled, with more they wait for nothing.
constexpr double kFewAhead = 3, kManyAhead = 8;
/// Shorter waits cost nothing [s].
constexpr double kShortWait_s = 0.2;

}  // namespace

void FlightLimit::evaluated(const GateSeconds& spent) {
  if (spent.measure <= 0) return;  // left out before it came to a GPU
  const std::size_t least = std::min(kLeast * gpus_, most_);
  if (measured_++ < kFirst) {
    prepare_s_ += spent.compile + spent.check + kFirstWait_s;
    measure_s_ += spent.measure;
    const double enough = static_cast<double>(gpus_) * prepare_s_ / measure_s_;
    now_ = static_cast<std::size_t>(
        std::clamp(enough, static_cast<double>(least), static_cast<double>(most_)));
  } else if (spent.wait < kFewAhead * spent.measure) {
    now_ = std::min(most_, now_ + 1);
  } else if (spent.wait > std::max(kShortWait_s, kManyAhead * spent.measure)) {
    now_ = std::max(least, now_ - 1);
  }
}

}  // namespace hone::search
