#include "engine/search/prescreen.h"

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

constexpr std::size_t kEnough = 8;
constexpr double kShareOfAll = 0.1;  // measured whatever the model says
constexpr double kNear = 3;          // times the best: where the model has to be right
constexpr double kLeastSpread = 0.05;
constexpr double kDeviations = 1;

double median(std::vector<double>& v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

}  // namespace

void Prescreen::learn(double modelled_us, double measured_us) {
  if (modelled_us <= 0 || measured_us <= 0) return;
  samples_.push_back({measured_us, std::log(measured_us / modelled_us)});
}

Prescreen::Trust Prescreen::trust(double best_us) const {
  std::vector<double> ratios;
  for (const Sample& s : samples_)
    if (s.measured_us <= kNear * best_us) ratios.push_back(s.ratio);
  if (ratios.size() < kEnough) {
    ratios.clear();
    for (const Sample& s : samples_) ratios.push_back(s.ratio);
  }
  Trust t;
  if (ratios.empty()) return t;
  t.enough = ratios.size() >= kEnough;
  t.offset = median(ratios);
  for (double& r : ratios) r = std::fabs(r - t.offset);
  t.spread = std::max(kLeastSpread, 1.48 * median(ratios));
  return t;
}

double Prescreen::threshold_us(double best_us) {
  const bool whatever = random_.chance(kShareOfAll);
  const Trust t = trust(best_us);
  if (whatever || !t.enough || best_us <= 0) return 0;
  return best_us * std::exp(kDeviations * t.spread - t.offset);
}

double Prescreen::expected_us(double modelled_us) const {
  double best = 0;
  for (const Sample& s : samples_)
    if (best == 0 || s.measured_us < best) best = s.measured_us;
  return modelled_us * std::exp(trust(best).offset);
}

}  // namespace hone
