#include "engine/page/run_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "engine/page/charts.h"

namespace hone::page {
namespace {

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

std::string progress_of(const RunRecord& run, const RunOutline& outline) {
  std::vector<ProgressPoint> drawn;
  const auto draw = [&](const RunPoint& point) {
    if (point.verdict != Verdict::kOk || point.speedup <= 0) return;
    drawn.push_back({seconds_between(run.started_at, point.found_at), point.speedup,
                     point.final_stage,
                     fmt::format("{}: {:.2f}x{}", point.candidate, point.speedup,
                                 point.final_stage ? ", final stage" : "")});
  };
  std::ranges::for_each(outline.progress, draw);
  std::ranges::for_each(outline.finals, draw);
  return progress_svg(drawn);
}

std::string population_of(const RunOutline& outline) {
  std::vector<VerdictCount> bars;
  for (const auto& [verdict, count] : outline.verdicts)
    bars.push_back({std::string(to_string(verdict)), count});
  std::ranges::stable_sort(bars, std::greater<>(), &VerdictCount::count);
  return bars_svg(bars);
}

}  // namespace hone::page
