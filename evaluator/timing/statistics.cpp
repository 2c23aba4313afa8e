#include "evaluator/timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace hone::timing {
namespace {

double resampled_median(const std::vector<double>& samples, std::mt19937_64& random,
                        std::vector<double>& scratch) {
  scratch.clear();
  // Not uniform_int_distribution, whose results differ between standard libraries.
  for (std::size_t i = 0; i < samples.size(); ++i)
    scratch.push_back(samples[random() % samples.size()]);
  return median(scratch);
}

Interval percentiles(std::vector<double> ratios) {
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double quantile) {
    return ratios[static_cast<std::size_t>(quantile * static_cast<double>(ratios.size() - 1) +
                                           0.5)];
  };
  return {at(0.025), at(0.975)};
}

}  // namespace

double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  const std::size_t middle = samples.size() / 2;
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(middle),
                   samples.end());
  const double upper = samples[middle];
  if (samples.size() % 2 == 1) return upper;
  const double lower =
      *std::max_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(middle));
  return (lower + upper) / 2;
}

Interval median_interval(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  const double half = 1.96 * std::sqrt(n) / 2;
  const double low = std::floor(n / 2 - half), high = std::ceil(n / 2 + half);
  const auto at = [&](double rank) {
    return samples[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))];
  };
  return {at(low - 1), at(high)};
}

Interval ratio_interval(const std::vector<double>& numerator,
                        const std::vector<double>& denominator, std::uint64_t seed, int resamples) {
  if (numerator.empty() || denominator.empty() || resamples < 1) return {};
  std::mt19937_64 random(seed);
  std::vector<double> ratios, scratch;
  if (numerator.size() == denominator.size()) {
    std::vector<double> other;
    for (int i = 0; i < resamples; ++i) {
      scratch.clear();
      other.clear();
      for (std::size_t k = 0; k < numerator.size(); ++k) {
        const std::size_t pair = random() % numerator.size();
        scratch.push_back(numerator[pair]);
        other.push_back(denominator[pair]);
      }
      const double bottom = median(other);
      if (bottom > 0) ratios.push_back(median(scratch) / bottom);
    }
    return percentiles(std::move(ratios));
  }
  for (int i = 0; i < resamples; ++i) {
    const double top = resampled_median(numerator, random, scratch);
    const double bottom = resampled_median(denominator, random, scratch);
    if (bottom > 0) ratios.push_back(top / bottom);
  }
  return percentiles(std::move(ratios));
}

double standard_error(const std::vector<double>& samples) {
  return ratio_standard_error(samples, std::vector<double>(samples.size(), 1));
}

double ratio_standard_error(const std::vector<double>& numerator,
                            const std::vector<double>& denominator) {
  const std::size_t n = std::min(numerator.size(), denominator.size());
  if (n < 2) return std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (numerator[i] <= 0 || denominator[i] <= 0) return std::numeric_limits<double>::infinity();
    const double ratio = std::log(numerator[i] / denominator[i]);
    sum += ratio;
    squares += ratio * ratio;
  }
  const auto count = static_cast<double>(n);
  const double variance = std::max(0.0, (squares - sum * sum / count) / (count - 1));
  return std::sqrt(variance / count);
}

int count_outliers(const std::vector<double>& samples) {
  const double middle = median(samples);
  std::vector<double> distances;
  for (const double s : samples) distances.push_back(std::abs(s - middle));
  const double limit = middle + std::max(5 * median(distances), 0.1 * middle);
  return static_cast<int>(std::ranges::count_if(samples, [&](double s) { return s > limit; }));
}

}  // namespace hone::timing
