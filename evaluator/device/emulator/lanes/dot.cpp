// The definition of a tensor core's sums, one element at a time, and the choice of the fast build.
#include "evaluator/device/emulator/lanes/dot.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace hone::emulator {

namespace dot_baseline {
DotLoops loops();
}
namespace dot_avx2 {
DotLoops loops();
}
namespace dot_avx512 {
DotLoops loops();
}

const DotLoops& dot_loops() {
  static const DotLoops kLoops = [] {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      return dot_avx512::loops();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return dot_avx2::loops();
#endif
    return dot_baseline::loops();
  }();
  return kLoops;
}

namespace {

struct Format {
  int places, smallest;  ///< fraction bits; exponent of subnormals
};

Format format_of(DotInput type) {
  switch (type) {
    case DotInput::kF16:
      return {10, -14};
    case DotInput::kBF16:
      return {7, -126};
    case DotInput::kTF32:
      return {10, -126};
    case DotInput::kE4M3:
      return {3, -6};
    default:
      return {2, -14};
  }
}

constexpr int kDoubleBias = 1023, kDoubleFraction = 52;
constexpr int kMostInChunk = 32;  // the largest DotModel::chunk

/// Of a double that is neither zero nor subnormal, as all values of floats and their products are:
/// the exponent of its leading bit.
int exponent_of(double value) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> kDoubleFraction & 0x7FF) -
         kDoubleBias;
}

/// 2^exponent, which a double has.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kDoubleBias)
                               << kDoubleFraction);
}

// value = significand * 2^(exponent - places), exponent not below `smallest`.
struct Split {
  std::int64_t significand;
  int exponent;
};
Split split(double value, int places, int smallest) {
  const int e = std::max(exponent_of(value), smallest);
  return {static_cast<std::int64_t>(value * power_of_two(places - e)), e};
}

}  // namespace

float half_value(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16;
  if ((h & 0x7C00) == 0x7C00)
    return std::bit_cast<float>(sign | 0x7F800000u | static_cast<std::uint32_t>(h & 0x3FF) << 13);
  const float magnitude =
      std::bit_cast<float>(static_cast<std::uint32_t>(h & 0x7FFF) << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

std::uint16_t half_bits(float value) {
  const auto x = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((x >> 16) & 0x8000);
  if (std::isnan(value)) return 0x7FFF;
  if (std::isinf(value)) return sign | 0x7C00;
  const float small = std::bit_cast<float>(x & 0x7FFFFFFF) * 0x1p-112f;
  return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(small) >> 13);
}

std::uint16_t half_nearest(double value) {
  if (!std::isfinite(value)) return half_bits(static_cast<float>(value));
  int e = 0;
  (void)std::frexp(value, &e);
  e = std::max(e - 1, -14);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, 10 - e)), e - 10);
  return half_bits(
      std::abs(rounded) >= 0x1p16
          ? std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value))
          : static_cast<float>(rounded));
}

float dot_value(DotInput type, std::uint32_t raw) {
  switch (type) {
    case DotInput::kF16:
      return half_value(static_cast<std::uint16_t>(raw));
    case DotInput::kBF16:
      return std::bit_cast<float>(raw << 16);
    case DotInput::kTF32:
      return std::bit_cast<float>(raw & 0xFFFFE000u);
    case DotInput::kE5M2:
      return half_value(static_cast<std::uint16_t>(raw << 8));
    default: {
      if ((raw & 0x7F) == 0x7F) return std::numeric_limits<float>::quiet_NaN();
      const float magnitude = std::bit_cast<float>((raw & 0x7F) << 20) * 0x1p120f;
      return raw & 0x80 ? -magnitude : magnitude;
    }
  }
}

float dot_slow(const DotModel& model, DotInput type_a, DotInput type_b, int k,
               const std::uint32_t* a, int a_stride, const std::uint32_t* b, float c) {
  using Output = DotModel::Output;
  const Format fa = format_of(type_a);
  const Format fb = format_of(type_b);
  for (int first = 0; first < k; first += model.chunk) {
    const int last = std::min(k, first + model.chunk);
    double ieee = c;  // for what is not finite
    int most = std::numeric_limits<int>::min();
    Split own{};
    if (c != 0 && std::isfinite(c)) {
      own = split(c, 23, model.output == Output::kF16 ? -14 : -126);
      most = own.exponent;
    }
    Split products[kMostInChunk];
    int count = 0;
    for (int i = first; i < last; ++i) {
      const double x = dot_value(type_a, a[i * a_stride]);
      const double y = dot_value(type_b, b[i]);
      ieee += x * y;
      if (x == 0 || y == 0 || !std::isfinite(x) || !std::isfinite(y)) continue;
      const Split sx = split(x, fa.places, fa.smallest), sy = split(y, fb.places, fb.smallest);
      products[count++] = {sx.significand * sy.significand, sx.exponent + sy.exponent};
      most = std::max(most, sx.exponent + sy.exponent);
    }
    if (!std::isfinite(ieee)) {
      c = std::isnan(ieee) ? std::bit_cast<float>(0x7FFFFFFFu) : static_cast<float>(ieee);
      continue;
    }
    const auto aligned = [&](const Split& one, int places) {
      const int left = model.fraction_bits - places + one.exponent - most;
      if (left >= 0) return one.significand * (std::int64_t{1} << left);
      if (left < -62) return std::int64_t{0};
      return one.significand / (std::int64_t{1} << -left);  // towards zero
    };
    std::int64_t sum = 0;
    if (c != 0) sum = aligned(own, 23);
    for (int i = 0; i < count; ++i) sum += aligned(products[i], fa.places + fb.places);
    if (sum == 0) {
      c = 0;
      continue;
    }
    const double exact = static_cast<double>(sum) * power_of_two(most - model.fraction_bits);
    const int places = model.output == Output::kF16 ? 10 : model.output == Output::kF32 ? 23 : 13;
    const int e = std::max(exponent_of(exact), model.output == Output::kF16 ? -14 : -126);
    const double scaled = exact * power_of_two(places - e);
    const double rounded =
        (model.output == Output::kF16 ? std::nearbyint(scaled) : std::trunc(scaled)) *
        power_of_two(e - places);
    const double limit = model.output == Output::kF16 ? 0x1p16 : 0x1p128;
    c = std::abs(rounded) >= limit
            ? std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(exact))
            : static_cast<float>(rounded);
    if (c == 0) c = 0;  // never -0
  }
  return c;
}

}  // namespace hone::emulator
