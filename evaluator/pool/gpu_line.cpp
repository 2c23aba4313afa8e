#include "evaluator/pool/gpu_line.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace hone {

std::uint64_t GpuLine::join(const Priority& priority, Clock::time_point now) {
  if (priority.run_s > kLong)
    now += std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(kGrace * priority.run_s));
  line_.emplace(came_, Waiting{priority, now});
  return came_++;
}

void GpuLine::take(std::uint64_t number) {
  line_.erase(number);
  ++turns_;
}

GpuLine::Clock::time_point GpuLine::ready(std::uint64_t number) const {
  const auto found = line_.find(number);
  return found == line_.end() ? Clock::time_point{} : found->second.ready;
}

std::optional<std::uint64_t> GpuLine::next(Clock::time_point now) const {
  double fastest = std::numeric_limits<double>::infinity();  // that somebody modelled
  for (const auto& [number, one] : line_)
    if (one.priority.modelled > 0) fastest = std::min(fastest, one.priority.modelled);
  const bool by_model = turns_ % 2 == 0;
  std::optional<std::uint64_t> next;
  std::tuple<double, std::uint64_t> least;
  for (const auto& [number, one] : line_) {
    const Priority& priority = one.priority;
    const bool far = priority.run_s > kLong && priority.modelled > kFar * fastest;
    if (now < one.ready || (far && !by_model)) continue;
    const std::tuple key(by_model ? priority.modelled : 0, priority.order);
    if (!next || key < least) {
      next = number;
      least = key;
    }
  }
  return next;
}

}  // namespace hone
