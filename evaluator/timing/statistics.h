// Statistics of timings. Pure functions; deterministic for a seed.
#pragma once

#include <cstdint>
#include <vector>

namespace hone::timing {

/// 0 for no samples.
[[nodiscard]] double median(std::vector<double> samples);

struct Interval {
  double low = 0, high = 0;
};

/// 95 % interval of the median from the samples' order: the binomial ranks in their normal
/// approximation (Conover, Practical Nonparametric Statistics, 3.2). {0, 0} for no samples.
[[nodiscard]] Interval median_interval(std::vector<double> samples);

/// Percentile bootstrap, 95 %, of median(numerator) / median(denominator) (Efron 1979). Lists of
/// one length are pairs and resampled as such, so that a drift of both cancels; others
/// independently.
[[nodiscard]] Interval ratio_interval(const std::vector<double>& numerator,
                                      const std::vector<double>& denominator, std::uint64_t seed,
                                      int resamples = 2000);

/// Relative standard error of the mean of numerator/denominator over pairs, from their logarithms;
/// infinity for fewer than two.
[[nodiscard]] double ratio_standard_error(const std::vector<double>& numerator,
                                          const std::vector<double>& denominator);

/// Relative standard error of the mean; infinity for fewer than two.
[[nodiscard]] double standard_error(const std::vector<double>& samples);

/// Samples further above the median than five times the median distance from it, and than a tenth.
[[nodiscard]] int count_outliers(const std::vector<double>& samples);

}  // namespace hone::timing
