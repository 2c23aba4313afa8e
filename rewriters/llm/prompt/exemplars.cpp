#include "rewriters/llm/prompt/exemplars.h"

#include <algorithm>
#include <cmath>

namespace hone::llm {
namespace {

// splitmix64 (Steele, Lea, Flood 2014): the same numbers everywhere.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

using Bucket = std::vector<std::size_t>;

// Those of `width` buckets over the logarithms that hold something, slowest first.
std::vector<Bucket> filled_buckets(const std::vector<std::size_t>& slowest_first,
                                   const std::vector<double>& times_us, std::size_t width) {
  const double high = std::log(times_us[slowest_first.front()]);
  const double low = std::log(times_us[slowest_first.back()]);
  std::vector<Bucket> filled;
  std::size_t last = width;
  for (const std::size_t index : slowest_first) {
    const double share = high > low ? (high - std::log(times_us[index])) / (high - low) : 0;
    const auto place =
        std::min(width - 1, static_cast<std::size_t>(share * static_cast<double>(width)));
    if (place != last) filled.emplace_back();
    last = place;
    filled.back().push_back(index);
  }
  return filled;
}

}  // namespace

std::vector<std::size_t> choose_exemplars(const std::vector<double>& times_us, std::size_t count,
                                          std::uint64_t seed) {
  constexpr std::size_t kMostBuckets = 4096;
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < times_us.size(); ++i) {
    if (std::isfinite(times_us[i]) && times_us[i] > 0) usable.push_back(i);
  }
  if (usable.empty() || count == 0) return {};
  std::ranges::stable_sort(usable, std::greater<>(), [&](std::size_t i) { return times_us[i]; });
  // Speeds gather near the best: narrower buckets, until enough of them hold something.
  std::vector<Bucket> buckets;
  for (std::size_t width = count; width <= std::max(count, kMostBuckets); width *= 2) {
    buckets = filled_buckets(usable, times_us, width);
    if (buckets.size() >= std::min(count, usable.size())) break;
  }
  const std::size_t taken = std::min(count, buckets.size());
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < taken; ++i) {
    // The first, the last, and evenly between; a single one is the fastest.
    const std::size_t place =
        taken == 1 ? buckets.size() - 1 : i * (buckets.size() - 1) / (taken - 1);
    const Bucket& bucket = buckets[place];
    chosen.push_back(bucket[next_random(seed) % bucket.size()]);
  }
  return chosen;
}

}  // namespace hone::llm
