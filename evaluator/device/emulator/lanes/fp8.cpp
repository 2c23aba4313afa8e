// 8-bit floats: e4m3 (no infinity, 448 the largest) and e5m2, always in pairs.
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {
namespace {

#include "evaluator/device/emulator/lanes/half.inc"

using Table = std::unordered_map<std::string, LaneFn>;
using u32 = std::uint32_t;

struct E4M3 {
  static constexpr int kFraction = 3, kBias = 7;
  static constexpr double kLargest = 448;
  static constexpr u32 kNan = 0x7F, kLargestBits = 0x7E;
  static bool is_nan(u32 v) { return (v & 0x7F) == 0x7F; }
  static bool is_infinite(u32) { return false; }
};
struct E5M2 {
  static constexpr int kFraction = 2, kBias = 15;
  static constexpr double kLargest = 57344;
  static constexpr u32 kNan = 0x7F, kLargestBits = 0x7B;
  static bool is_nan(u32 v) { return (v & 0x7F) > 0x7C; }
  static bool is_infinite(u32 v) { return (v & 0x7F) == 0x7C; }
};

// Round to nearest even, saturating to the largest finite value.
template <class F, bool kRelu>
u32 to_fp8(float f) {
  if (f != f) return F::kNan;
  const u32 sign = std::signbit(f) ? 0x80u : 0u;
  if (kRelu && sign) return 0;
  const double v = std::fabs(static_cast<double>(f));
  if (v >= F::kLargest) return sign | F::kLargestBits;
  int e = v == 0 ? -1000 : std::ilogb(v);
  if (e < 1 - F::kBias) e = 1 - F::kBias;  // subnormals share the least exponent
  const auto steps = static_cast<u32>(std::nearbyint(std::ldexp(v, F::kFraction - e)));
  // A carry out of the fraction moves the exponent by itself.
  const u32 bits = (static_cast<u32>(e + F::kBias - 1) << F::kFraction) + steps;
  return sign | (bits > F::kLargestBits ? F::kLargestBits : bits);
}
template <class F>
float from_fp8(u32 v) {
  const float sign = v & 0x80 ? -1.f : 1.f;
  if (F::is_nan(v)) return std::bit_cast<float>(0x7FC00000u);
  if (F::is_infinite(v)) return sign * HUGE_VALF;
  const int e = static_cast<int>(v & 0x7F) >> F::kFraction;
  const int m = static_cast<int>(v & ((1u << F::kFraction) - 1));
  return sign * static_cast<float>(
                    e == 0 ? std::ldexp(m, 1 - F::kBias - F::kFraction)
                           : std::ldexp(m + (1 << F::kFraction), e - F::kBias - F::kFraction));
}

template <class F, bool kRelu>
void pack_f32(void* d, const void* a, const void* b, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i)
    if ((mask >> i) & 1)
      static_cast<u32*>(d)[i] = to_fp8<F, kRelu>(static_cast<const float*>(a)[i]) << 8 |
                                to_fp8<F, kRelu>(static_cast<const float*>(b)[i]);
}
template <class F, bool kRelu>
void pack_f16x2(void* d, const void* a, const void*, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i) {
    if (!((mask >> i) & 1)) continue;
    const u32 v = static_cast<const u32*>(a)[i];
    static_cast<u32*>(d)[i] =
        to_fp8<F, kRelu>(f16_to_f32(v >> 16)) << 8 | to_fp8<F, kRelu>(f16_to_f32(v & 0xFFFF));
  }
}
template <class F, bool kRelu>
void unpack(void* d, const void* a, const void*, const void*, u32 mask, u32) {
  const auto half = [](u32 v) {
    const float f = from_fp8<F>(v);
    return kRelu && std::signbit(f) && f == f ? 0u : f32_to_f16(f);
  };
  for (int i = 0; i < 32; ++i) {
    if (!((mask >> i) & 1)) continue;
    const u32 v = static_cast<const u32*>(a)[i];
    static_cast<u32*>(d)[i] = half(v >> 8 & 0xFF) << 16 | half(v & 0xFF);
  }
}

template <class F>
void add(Table& t, const std::string& name) {
  const std::string x2 = name + "x2";
  t["cvt.rn.satfinite." + x2 + ".f32"] = pack_f32<F, false>;
  t["cvt.rn.satfinite.relu." + x2 + ".f32"] = pack_f32<F, true>;
  t["cvt.rn.satfinite." + x2 + ".f16x2"] = pack_f16x2<F, false>;
  t["cvt.rn.satfinite.relu." + x2 + ".f16x2"] = pack_f16x2<F, true>;
  t["cvt.rn.f16x2." + x2] = unpack<F, false>;
  t["cvt.rn.relu.f16x2." + x2] = unpack<F, true>;
}

}  // namespace

void fill_fp8(Table& t) {
  add<E4M3>(t, "e4m3");
  add<E5M2>(t, "e5m2");
}

}  // namespace hone::emulator
