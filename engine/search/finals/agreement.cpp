#include "engine/search/finals/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

constexpr double kModelled = 1e-3;
constexpr double kMeasured = 0.03;
/// Devices of one name do not differ by more in their times, where their speedups agree.
constexpr double kSameDevice = 1.5;
/// A worker may not claim that its noise explains everything: of its speedup, at most.
constexpr double kWidestInterval = 0.1;

bool close(double a, double b) { return std::abs(a - b) <= kModelled * std::max(a, b); }

double half_interval(const Measurement& m) {
  return std::clamp((m.ci95_high - m.ci95_low) / 2, 0.0, kWidestInterval * m.speedup);
}

}  // namespace

bool agree(const Evaluation& a, const Evaluation& b) {
  if (a.verdict != b.verdict) return false;
  if (a.verdict != Verdict::kOk) return true;
  const Measurement &m = a.measurement, &n = b.measurement;
  if (m.modelled != n.modelled) return false;
  if (m.modelled)
    return close(m.time_us, n.time_us) && close(m.reference_time_us, n.reference_time_us);
  if (std::max(m.time_us, n.time_us) > kSameDevice * std::min(m.time_us, n.time_us)) return false;
  return std::abs(m.speedup - n.speedup) <=
         std::max(kMeasured * std::max(m.speedup, n.speedup),
                  std::hypot(half_interval(m), half_interval(n)));
}

std::optional<std::size_t> believed(const std::vector<Report>& reports) {
  for (std::size_t i = 1; i < reports.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Evaluation &a = reports[j].evaluation, &b = reports[i].evaluation;
      if (agree(a, b)) return b.measurement.speedup < a.measurement.speedup ? i : j;
    }
  }
  return std::nullopt;
}

std::string what_it_says(const Evaluation& evaluation) {
  const Measurement& m = evaluation.measurement;
  return evaluation.verdict == Verdict::kOk
             ? fmt::format("ok, {:.6g} us, {:.3f}x", m.time_us, m.speedup)
             : fmt::format("{} ({})", to_string(evaluation.verdict), evaluation.detail);
}

}  // namespace hone
