#include "evaluator/pool/gpu_line.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace hone {

namespace {

GpuLine::Clock::duration of_seconds(double seconds) {
  return std::chrono::duration_cast<GpuLine::Clock::duration>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

std::uint64_t GpuLine::join(const Priority& priority, Clock::time_point now, bool idle) {
  const double grace =
      priority.run_s > kLong && !idle ? std::min(kGrace * priority.run_s, kMostGrace) : 0;
  line_.emplace(came_, Waiting{priority, now + of_seconds(grace), now});
  return came_++;
}

GpuLine::Clock::duration GpuLine::patience() { return of_seconds(kPatience); }

void GpuLine::take(std::uint64_t number) {
  line_.erase(number);
  ++turns_;
}

GpuLine::Clock::time_point GpuLine::ready(std::uint64_t number) const {
  const auto found = line_.find(number);
  return found == line_.end() ? Clock::time_point{} : found->second.ready;
}

std::optional<std::uint64_t> GpuLine::next(Clock::time_point now) const {
  std::map<std::string_view, double> fastest;  // of each reference, that somebody modelled
  for (const auto& [number, one] : line_) {
    const Priority& priority = one.priority;
    if (priority.modelled <= 0 || now < one.ready) continue;
    const auto [known, first] = fastest.emplace(priority.reference, priority.modelled);
    if (!first) known->second = std::min(known->second, priority.modelled);
  }
  const bool by_model = turns_ % 2 == 0;
  std::optional<std::uint64_t> next;
  std::tuple<double, std::uint64_t> least;
  for (const auto& [number, one] : line_) {
    const Priority& priority = one.priority;
    if (now < one.ready) continue;
    const bool far = priority.run_s > kLong && now < one.joined + of_seconds(kPatience) &&
                     priority.modelled > kFar * fastest[priority.reference];
    if (far && !by_model) continue;
    const std::tuple key(by_model ? priority.modelled : 0, priority.order);
    if (!next || key < least) {
      next = number;
      least = key;
    }
  }
  return next;
}

}  // namespace hone
