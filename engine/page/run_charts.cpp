#include "engine/page/run_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <vector>

#include "engine/page/charts.h"

namespace hone::page {
namespace {

constexpr std::size_t kDrawn = 1500;  // quick times of a chart: more are only ink

/// Seconds between two times of the store.
double seconds_between(const std::string& from, const std::string& to) {
  const auto seconds = [](const std::string& iso) {
    std::tm parts{};
    const char* rest = strptime(iso.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == nullptr) return 0.0;
    const double fraction = *rest == '.' ? std::strtod(rest, nullptr) : 0;
    return static_cast<double>(timegm(&parts)) + fraction;
  };
  return std::max(0.0, seconds(to) - seconds(from));
}

}  // namespace

std::string progress_of(const RunRecord& run, std::span<const RunPoint> points) {
  std::size_t timed = 0, seen = 0;
  for (const RunPoint& point : points) timed += point.speedup > 0 ? 1 : 0;
  const std::size_t every = timed / kDrawn + 1;
  double best = 0;
  std::vector<ProgressPoint> drawn;
  for (const RunPoint& point : points) {
    if (point.verdict != Verdict::kOk || point.speedup <= 0) continue;
    const bool raises = !point.final_stage && point.speedup > best;
    if (raises) best = point.speedup;
    if (!raises && !point.final_stage && ++seen % every != 0) continue;
    drawn.push_back({seconds_between(run.started_at, point.found_at), point.speedup,
                     point.final_stage,
                     fmt::format("{}: {:.2f}x{}", point.candidate, point.speedup,
                                 point.final_stage ? ", final stage" : "")});
  }
  return progress_svg(drawn);
}

std::string population_of(std::span<const RunPoint> points) {
  std::map<Verdict, long long> counts;
  for (const RunPoint& point : points)
    if (!point.final_stage) ++counts[point.verdict];
  std::vector<VerdictCount> bars;
  for (const auto& [verdict, count] : counts)
    bars.push_back({std::string(to_string(verdict)), count});
  std::ranges::stable_sort(bars, std::greater<>(), &VerdictCount::count);
  return bars_svg(bars);
}

}  // namespace hone::page
