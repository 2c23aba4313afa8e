// Random numbers that are the same on every platform for a given seed (the distributions of
// <random> are not).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace hone {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [0, n); n >= 1.
  std::size_t index(std::size_t n) {
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    std::uint64_t value = engine_();
    while (value >= limit) value = engine_();
    return static_cast<std::size_t>(value % n);
  }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }
  std::uint64_t bits() { return engine_(); }

  /// Index with probability proportional to its weight; weights >= 0, at least one > 0.
  std::size_t weighted(const std::vector<double>& weights) {
    double total = 0;
    for (double weight : weights) total += weight;
    double point = unit() * total;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      point -= weights[i];
      if (point < 0) return i;
    }
    return weights.size() - 1;
  }

 private:
  std::mt19937_64 engine_;
};

/// From the system: nobody can know them before, or repeat them.
[[nodiscard]] inline std::uint64_t secret_bits() {
  static thread_local std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace hone
