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

/// Percentile bootstrap, 95 %, of median(numerator) / median(denominator) (Efron 1979). Both sample
/// lists are resampled independently.
[[nodiscard]] Interval ratio_interval(const std::vector<double>& numerator,
                                      const std::vector<double>& denominator, std::uint64_t seed,
                                      int resamples = 2000);

}  // namespace hone::timing
