// cvt in all its roundings, and the directed-rounding arithmetic: rare, so plain loops.
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

void fill_fp8(std::unordered_map<std::string, LaneFn>& table);    // fp8.cpp
void fill_video(std::unordered_map<std::string, LaneFn>& table);  // video.cpp

namespace {

#include "evaluator/device/emulator/lanes/half.inc"

using Table = std::unordered_map<std::string, LaneFn>;
using u32 = std::uint32_t;

/// Sets the rounding mode for a scope: once for a warp, as setting it takes longer than what is
/// rounded. What runs inside is kept opaque to the optimiser.
class Rounding {
 public:
  explicit Rounding(int mode) : old_(std::fegetround()) { std::fesetround(mode); }
  ~Rounding() { std::fesetround(old_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  int old_;
};
template <class T>
T opaque(T v) {
  asm volatile("" : "+m"(v)::"memory");
  return v;
}

constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
const char* const kModeNames[] = {"rn", "rz", "rm", "rp"};

struct F16 {};
struct BF16 {};

// Reads as double: exact for every float source.
template <class S>
double read(const void* p, int i) {
  if constexpr (std::is_same_v<S, double>) return static_cast<const double*>(p)[i];
  const u32 bits = static_cast<const u32*>(p)[i];
  if constexpr (std::is_same_v<S, float>) return std::bit_cast<float>(bits);
  if constexpr (std::is_same_v<S, F16>) return f16_to_f32(bits & 0xFFFF);
  return bf16_to_f32(bits & 0xFFFF);
}

template <class D>
void write(void* d, int i, D v) {
  if constexpr (sizeof(D) == 8)
    static_cast<std::uint64_t*>(d)[i] = std::bit_cast<std::uint64_t>(v);
  else if constexpr (std::is_same_v<D, float>)
    static_cast<u32*>(d)[i] = std::bit_cast<u32>(v);
  else
    static_cast<u32*>(d)[i] = static_cast<std::make_unsigned_t<D>>(v);
}

/// 2^e of a normal double.
double power_of_2(int e) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

/// Rounds a double to a grid of `bits` of precision with the given least exponent and largest
/// finite value, in the current meaning of `mode` (0 rn, 1 rz, 2 rm, 3 rp).
double round_to(double v, int precision, int least_exponent, double largest, int mode) {
  if (!std::isfinite(v) || v == 0) return v;
  // v = m * 2^e, 0.5 <= |m| < 1; of a subnormal, any e below least_exponent will do.
  const int e = static_cast<int>(std::bit_cast<std::uint64_t>(v) >> 52 & 0x7FF) - 1022;
  const int quantum = std::max(e - precision, least_exponent);
  const double scaled = v * power_of_2(-quantum);
  double r;
  switch (mode) {
    case 0:
      r = std::nearbyint(scaled);
      break;
    case 1:
      r = std::trunc(scaled);
      break;
    case 2:
      r = std::floor(scaled);
      break;
    case 3:
      r = std::ceil(scaled);
      break;
    default:
      r = std::round(scaled);
      break;  // rna
  }
  r *= power_of_2(quantum);
  if (r == 0) r = std::copysign(0.0, v);
  if (std::fabs(r) > largest) {
    const bool to_infinity = mode == 0 || mode == 4 || (mode == 2 && v < 0) || (mode == 3 && v > 0);
    r = std::copysign(to_infinity ? std::numeric_limits<double>::infinity() : largest, v);
  }
  return r;
}

/// The NaN that the hardware makes of floats.
const float kNan = std::bit_cast<float>(0x7FFFFFFFu);

u32 to_f16_bits(double v, int mode) {
  return f32_to_f16(static_cast<float>(round_to(v, 11, -24, 65504.0, mode)));
}
u32 to_bf16_bits(double v, int mode) {
  constexpr double kLargest = 3.3895313892515355e38;
  return f32_to_bf16(static_cast<float>(round_to(v, 8, -133, kLargest, mode)));
}
float to_f32(double v, int mode) {
  return static_cast<float>(round_to(v, 24, -149, std::numeric_limits<float>::max(), mode));
}
double flush_f32(double v) { return std::fabs(v) < 0x1p-126 ? std::copysign(0.0, v) : v; }
double saturate(double v) { return v > 0 ? (v < 1 ? v : 1) : 0; }

// float -> integer: mode 0 rni, 1 rzi, 2 rmi, 3 rpi; clamps; NaN gives 0 for 32 bits and less, and
// the top bit alone for 64 (PTX ISA, cvt).
template <class D, class S, int kMode, bool kFtz>
void to_integer(void* d, const void* a, const void*, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i) {
    if (!((mask >> i) & 1)) continue;
    double v = read<S>(a, i);
    if (kFtz) v = flush_f32(v);
    if (std::isnan(v)) {
      // As an H200 has it: the top bit alone, but zero for what is no f64 into 32 bits and less.
      if constexpr (sizeof(D) == 8 || std::is_same_v<S, double>)
        write<D>(d, i, static_cast<D>(std::uint64_t{1} << (8 * sizeof(D) - 1)));
      else
        write<D>(d, i, 0);
      continue;
    }
    switch (kMode) {
      case 0:
        v = std::nearbyint(v);
        break;
      case 1:
        v = std::trunc(v);
        break;
      case 2:
        v = std::floor(v);
        break;
      default:
        v = std::ceil(v);
        break;
    }
    constexpr D lo = std::numeric_limits<D>::min();
    constexpr D hi = std::numeric_limits<D>::max();
    D r;
    if (v <= static_cast<double>(lo))
      r = lo;
    else if (v >= static_cast<double>(hi))
      r = hi;
    else
      r = static_cast<D>(v);
    write<D>(d, i, r);
  }
}

// float -> integral float of the same type
template <class S, int kMode, bool kFtz, bool kSat>
void to_integral(void* d, const void* a, const void*, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i) {
    if (!((mask >> i) & 1)) continue;
    double v = read<S>(a, i);
    if (kFtz) v = flush_f32(v);
    const double sign = v;
    switch (kMode) {
      case 0:
        v = std::nearbyint(v);
        break;
      case 1:
        v = std::trunc(v);
        break;
      case 2:
        v = std::floor(v);
        break;
      default:
        v = std::ceil(v);
        break;
    }
    if (v == 0) v = std::copysign(0.0, sign);
    if (kSat) v = saturate(v);
    if constexpr (std::is_same_v<S, double>)
      static_cast<double*>(d)[i] = v;
    else if constexpr (std::is_same_v<S, float>)
      static_cast<float*>(d)[i] = v != v ? kNan : static_cast<float>(v);
    else if constexpr (std::is_same_v<S, F16>)
      static_cast<u32*>(d)[i] = f32_to_f16(static_cast<float>(v));
    else
      static_cast<u32*>(d)[i] = f32_to_bf16(static_cast<float>(v));
  }
}

template <class D>
void store_float(void* d, int i, double v, int mode) {
  if constexpr (std::is_same_v<D, double>)
    static_cast<double*>(d)[i] = v;
  else if constexpr (std::is_same_v<D, float>)
    static_cast<float*>(d)[i] = to_f32(v, mode);
  else if constexpr (std::is_same_v<D, F16>)
    static_cast<u32*>(d)[i] = to_f16_bits(v, mode);
  else
    static_cast<u32*>(d)[i] = to_bf16_bits(v, mode);
}

template <class D, class S, int kMode, bool kFtz, bool kSat, bool kRelu>
void to_float(void* d, const void* a, const void*, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i) {
    if (!((mask >> i) & 1)) continue;
    double v = read<S>(a, i);
    // Into a half, .ftz leaves the source's subnormals alone (seen in the directed roundings).
    constexpr bool kToHalf = std::is_same_v<D, F16> || std::is_same_v<D, BF16>;
    if (kFtz && std::is_same_v<S, float> && !kToHalf) v = flush_f32(v);
    if (kSat) v = saturate(v);
    if (kRelu && v <= 0) v = 0;
    if constexpr (kToHalf && std::is_same_v<S, double>) {
      if (std::isnan(v)) {  // the payload's upper bits stay
        const std::uint64_t bits = static_cast<const std::uint64_t*>(a)[i];
        const auto sign = static_cast<u32>(bits >> 63) << 15;
        const std::uint64_t fraction = bits & 0xFFFFFFFFFFFFFull;
        static_cast<u32*>(d)[i] =
            sign | (std::is_same_v<D, F16> ? 0x7E00u | static_cast<u32>(fraction >> 42)
                                           : 0x7FC0u | static_cast<u32>(fraction >> 45));
        continue;
      }
    }
    if constexpr (std::is_same_v<D, float> && (kMode == 0 || !std::is_same_v<S, double>))
      static_cast<float*>(d)[i] = static_cast<float>(v);  // exact, or as a conversion rounds anyway
    else
      store_float<D>(d, i, v, kMode);
    if constexpr (std::is_same_v<D, float>) {
      float& r = static_cast<float*>(d)[i];
      if (kFtz) r = static_cast<float>(flush_f32(r));
      if (r != r && !std::is_same_v<S, double>) r = kNan;
    }
  }
}

// integer -> float, directed or to a half
template <class D, class S, int kMode>
void from_integer(void* d, const void* a, const void*, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i) {
    if (!((mask >> i) & 1)) continue;
    S s;
    if constexpr (sizeof(S) == 8)
      s = static_cast<const S*>(a)[i];
    else
      s = static_cast<S>(static_cast<const u32*>(a)[i]);
    // Through long double: 64 bits of precision hold every integer.
    if constexpr (std::is_same_v<D, float> || std::is_same_v<D, double>) {
      const Rounding rounding(kModes[kMode]);
      write<D>(d, i, opaque(static_cast<D>(opaque(static_cast<long double>(s)))));
    } else {
      // Halves: sticky bit keeps a 64-bit integer's tail.
      double v = static_cast<double>(s);
      if (std::is_same_v<D, BF16> && sizeof(S) == 8) {
        const Rounding rounding(FE_TOWARDZERO);
        v = opaque(static_cast<double>(opaque(static_cast<long double>(s))));
        if (static_cast<long double>(v) != static_cast<long double>(s))
          v = std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) | 1);
      }
      store_float<D>(d, i, v, kMode);
    }
  }
}

// .satfinite: NaN is canonical, infinity and what is beyond the largest become the largest.
template <class D, int kMode, bool kRelu>
u32 finite_half(float f) {
  double v = f;
  if (kRelu && v <= 0) v = 0;
  constexpr double kLargest = std::is_same_v<D, F16> ? 65504.0 : 3.3895313892515355e38;
  if (v > kLargest) v = kLargest;
  if (v < -kLargest) v = -kLargest;
  if constexpr (std::is_same_v<D, F16>)
    return to_f16_bits(v, kMode);
  else
    return to_bf16_bits(v, kMode);
}
template <class D, int kMode, bool kRelu>
void to_finite_half(void* d, const void* a, const void*, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i)
    if ((mask >> i) & 1)
      static_cast<u32*>(d)[i] = finite_half<D, kMode, kRelu>(static_cast<const float*>(a)[i]);
}
template <class D, int kMode, bool kRelu>
void pack_two_finite(void* d, const void* a, const void* b, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i)
    if ((mask >> i) & 1)
      static_cast<u32*>(d)[i] = finite_half<D, kMode, kRelu>(static_cast<const float*>(a)[i])
                                    << 16 |
                                finite_half<D, kMode, kRelu>(static_cast<const float*>(b)[i]);
}
template <class D, int kMode>
void add_finite(Table& t, const std::string& name) {
  const std::string m = std::string("cvt.") + kModeNames[kMode];
  t[m + ".satfinite." + name + ".f32"] = to_finite_half<D, kMode, false>;
  t[m + ".relu.satfinite." + name + ".f32"] = to_finite_half<D, kMode, true>;
  t[m + ".satfinite." + name + "x2.f32"] = pack_two_finite<D, kMode, false>;
  t[m + ".relu.satfinite." + name + "x2.f32"] = pack_two_finite<D, kMode, true>;
}

// cvt.rn.f16x2.f32 d, a, b: a goes to the upper half.
template <class D, int kMode, bool kRelu>
void pack_two(void* d, const void* a, const void* b, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i) {
    if (!((mask >> i) & 1)) continue;
    double hi = static_cast<const float*>(a)[i];
    double lo = static_cast<const float*>(b)[i];
    if (kRelu) {
      if (hi <= 0) hi = 0;
      if (lo <= 0) lo = 0;
    }
    if constexpr (std::is_same_v<D, F16>)
      static_cast<u32*>(d)[i] = to_f16_bits(hi, kMode) << 16 | to_f16_bits(lo, kMode);
    else
      static_cast<u32*>(d)[i] = to_bf16_bits(hi, kMode) << 16 | to_bf16_bits(lo, kMode);
  }
}

template <int kMode, bool kRelu = false>
void to_tf32(void* d, const void* a, const void*, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i) {
    if (!((mask >> i) & 1)) continue;
    double v = static_cast<const float*>(a)[i];
    if (v != v) {
      u32 kept = kMode == 4 ? static_cast<const u32*>(a)[i] & 0xFFFFE000u : 0x7FFFE000u;
      if ((kept & 0x007FFFFFu) == 0) kept |= 0x00400000u;  // not infinity
      static_cast<u32*>(d)[i] = kept;
      continue;
    }
    if (kRelu && v <= 0) v = 0;
    static_cast<float*>(d)[i] =
        static_cast<float>(round_to(v, 11, -149 + 13, std::numeric_limits<float>::max(), kMode));
  }
}

// Arithmetic with a directed rounding.
enum class Op { kAdd, kSub, kMul, kDiv, kFma, kRcp, kSqrt };
template <class T, Op kOp, int kMode, bool kFtz, bool kSat>
void directed(void* pd, const void* pa, const void* pb, const void* pc, u32 mask, u32) {
  auto* d = static_cast<T*>(pd);
  const auto* a = static_cast<const T*>(pa);
  const auto* b = static_cast<const T*>(pb);
  const auto* c = static_cast<const T*>(pc);
  const auto in = [](T v) { return kFtz ? static_cast<T>(flush_f32(v)) : v; };
  const Rounding rounding(kModes[kMode]);  // nothing but the operation itself rounds
  for (int i = 0; i < 32; ++i) {
    if (!((mask >> i) & 1)) continue;
    const T x = in(a[i]);
    const T y = in(b[i]);
    const T z = in(c[i]);
    const T ox = opaque(x);
    const T oy = opaque(y);
    T r;
    switch (kOp) {
      case Op::kAdd:
        r = opaque(ox + oy);
        break;
      case Op::kSub:
        r = opaque(ox - oy);
        break;
      case Op::kMul:
        r = opaque(ox * oy);
        break;
      case Op::kDiv:
        r = opaque(ox / oy);
        break;
      case Op::kFma:
        r = opaque(std::fma(ox, oy, opaque(z)));
        break;
      case Op::kRcp:
        r = opaque(T{1} / ox);
        break;
      default:
        r = opaque(std::sqrt(ox));
        break;
    }
    if (kSat) r = static_cast<T>(saturate(r));
    // Into zero what was tiny before rounding, even if it rounded up to the least normal (div.rp).
    if (kFtz && kOp == Op::kDiv && std::fabs(r) == static_cast<T>(0x1p-126) &&
        std::fabs(static_cast<double>(x)) < std::fabs(static_cast<double>(y)) * 0x1p-126)
      r = std::copysign(T{0}, r);
    r = in(r);
    d[i] = std::is_same_v<T, float> && r != r ? static_cast<T>(kNan) : r;
  }
}

template <class T, int kMode, bool kFtz, bool kSat>
void add_directed(Table& t, const std::string& mods, const std::string& n) {
  t["add." + mods + n] = directed<T, Op::kAdd, kMode, kFtz, kSat>;
  t["sub." + mods + n] = directed<T, Op::kSub, kMode, kFtz, kSat>;
  t["mul." + mods + n] = directed<T, Op::kMul, kMode, kFtz, kSat>;
  t["fma." + mods + n] = directed<T, Op::kFma, kMode, kFtz, kSat>;
  if (kSat) return;
  t["div." + mods + n] = directed<T, Op::kDiv, kMode, kFtz, false>;
  t["rcp." + mods + n] = directed<T, Op::kRcp, kMode, kFtz, false>;
  t["sqrt." + mods + n] = directed<T, Op::kSqrt, kMode, kFtz, false>;
}

template <class D, int kMode>
void add_to_integer(Table& t, const std::string& d) {
  const std::string m = std::string("cvt.") + kModeNames[kMode] + "i";
  for (const char* sat : {"", ".sat"}) {
    t[m + sat + "." + d + ".f32"] = to_integer<D, float, kMode, false>;
    t[m + ".ftz" + sat + "." + d + ".f32"] = to_integer<D, float, kMode, true>;
    t[m + sat + "." + d + ".f64"] = to_integer<D, double, kMode, false>;
    t[m + sat + "." + d + ".f16"] = to_integer<D, F16, kMode, false>;
    t[m + sat + "." + d + ".bf16"] = to_integer<D, BF16, kMode, false>;
  }
}

template <class S, int kMode>
void add_from_integer(Table& t, const std::string& s) {
  const std::string m = std::string("cvt.") + kModeNames[kMode];
  t[m + ".f32." + s] = from_integer<float, S, kMode>;
  t[m + ".f64." + s] = from_integer<double, S, kMode>;
  t[m + ".f16." + s] = from_integer<F16, S, kMode>;
  t[m + ".bf16." + s] = from_integer<BF16, S, kMode>;
}

template <class D, class S, int kMode>
void add_to_float(Table& t, const std::string& names) {
  const std::string m = std::string("cvt.") + kModeNames[kMode];
  t[m + names] = to_float<D, S, kMode, false, false, false>;
  t[m + ".ftz" + names] = to_float<D, S, kMode, true, false, false>;
  t[m + ".sat" + names] = to_float<D, S, kMode, false, true, false>;
  t[m + ".ftz.sat" + names] = to_float<D, S, kMode, true, true, false>;
  t[m + ".relu" + names] = to_float<D, S, kMode, false, false, true>;
}

template <int kMode>
void add_mode(Table& t) {
  add_to_integer<std::uint8_t, kMode>(t, "u8");
  add_to_integer<std::int8_t, kMode>(t, "s8");
  add_to_integer<std::uint16_t, kMode>(t, "u16");
  add_to_integer<std::int16_t, kMode>(t, "s16");
  add_to_integer<std::uint32_t, kMode>(t, "u32");
  add_to_integer<std::int32_t, kMode>(t, "s32");
  add_to_integer<std::uint64_t, kMode>(t, "u64");
  add_to_integer<std::int64_t, kMode>(t, "s64");
  add_from_integer<std::uint8_t, kMode>(t, "u8");
  add_from_integer<std::int8_t, kMode>(t, "s8");
  add_from_integer<std::uint16_t, kMode>(t, "u16");
  add_from_integer<std::int16_t, kMode>(t, "s16");
  add_from_integer<std::uint32_t, kMode>(t, "u32");
  add_from_integer<std::int32_t, kMode>(t, "s32");
  add_from_integer<std::uint64_t, kMode>(t, "u64");
  add_from_integer<std::int64_t, kMode>(t, "s64");
  add_to_float<F16, float, kMode>(t, ".f16.f32");
  add_to_float<F16, double, kMode>(t, ".f16.f64");
  add_to_float<BF16, float, kMode>(t, ".bf16.f32");
  add_to_float<BF16, double, kMode>(t, ".bf16.f64");
  add_to_float<BF16, F16, kMode>(t, ".bf16.f16");
  add_to_float<F16, BF16, kMode>(t, ".f16.bf16");
  add_to_float<float, double, kMode>(t, ".f32.f64");
  const std::string i = std::string("cvt.") + kModeNames[kMode] + "i";
  t[i + ".f32.f32"] = to_integral<float, kMode, false, false>;
  t[i + ".ftz.f32.f32"] = to_integral<float, kMode, true, false>;
  t[i + ".sat.f32.f32"] = to_integral<float, kMode, false, true>;
  t[i + ".ftz.sat.f32.f32"] = to_integral<float, kMode, true, true>;
  t[i + ".f64.f64"] = to_integral<double, kMode, false, false>;
  t[i + ".sat.f64.f64"] = to_integral<double, kMode, false, true>;
  t[i + ".f16.f16"] = to_integral<F16, kMode, false, false>;
  t[i + ".sat.f16.f16"] = to_integral<F16, kMode, false, true>;
  t[i + ".bf16.bf16"] = to_integral<BF16, kMode, false, false>;
  const std::string m = std::string("cvt.") + kModeNames[kMode];
  t[m + ".f16x2.f32"] = pack_two<F16, kMode, false>;
  t[m + ".relu.f16x2.f32"] = pack_two<F16, kMode, true>;
  t[m + ".bf16x2.f32"] = pack_two<BF16, kMode, false>;
  t[m + ".relu.bf16x2.f32"] = pack_two<BF16, kMode, true>;
  t[m + ".tf32.f32"] = to_tf32<kMode>;
  t[m + ".relu.tf32.f32"] = to_tf32<kMode, true>;
  add_finite<F16, kMode>(t, "f16");
  add_finite<BF16, kMode>(t, "bf16");
  const std::string mode = kModeNames[kMode];
  if (kMode != 0) {
    add_directed<float, kMode, false, false>(t, mode, ".f32");
    add_directed<float, kMode, true, false>(t, mode + ".ftz", ".f32");
    add_directed<float, kMode, false, true>(t, mode + ".sat", ".f32");
    add_directed<float, kMode, true, true>(t, mode + ".ftz.sat", ".f32");
    add_directed<double, kMode, false, false>(t, mode, ".f64");
  }
}

// Saturating integer conversions.
template <class D, class S>
void clamp_integer(void* d, const void* a, const void*, const void*, u32 mask, u32) {
  for (int i = 0; i < 32; ++i) {
    if (!((mask >> i) & 1)) continue;
    __int128 v;
    if constexpr (sizeof(S) == 8)
      v = static_cast<const S*>(a)[i];
    else
      v = static_cast<S>(static_cast<const u32*>(a)[i]);
    const __int128 lo = std::numeric_limits<D>::min();
    const __int128 hi = std::numeric_limits<D>::max();
    write<D>(d, i, static_cast<D>(v < lo ? lo : v > hi ? hi : v));
  }
}
template <class S>
void add_clamps(Table& t, const std::string& s) {
  t["cvt.sat.u8." + s] = clamp_integer<std::uint8_t, S>;
  t["cvt.sat.s8." + s] = clamp_integer<std::int8_t, S>;
  t["cvt.sat.u16." + s] = clamp_integer<std::uint16_t, S>;
  t["cvt.sat.s16." + s] = clamp_integer<std::int16_t, S>;
  t["cvt.sat.u32." + s] = clamp_integer<std::uint32_t, S>;
  t["cvt.sat.s32." + s] = clamp_integer<std::int32_t, S>;
  t["cvt.sat.u64." + s] = clamp_integer<std::uint64_t, S>;
  t["cvt.sat.s64." + s] = clamp_integer<std::int64_t, S>;
}

}  // namespace

void fill_conversions(Table& t) {
  add_mode<0>(t);
  add_mode<1>(t);
  add_mode<2>(t);
  add_mode<3>(t);
  add_clamps<std::uint8_t>(t, "u8");
  add_clamps<std::int8_t>(t, "s8");
  add_clamps<std::uint16_t>(t, "u16");
  add_clamps<std::int16_t>(t, "s16");
  add_clamps<std::uint32_t>(t, "u32");
  add_clamps<std::int32_t>(t, "s32");
  add_clamps<std::uint64_t>(t, "u64");
  add_clamps<std::int64_t>(t, "s64");
  // Widening between floats needs no rounding.
  t["cvt.f64.f32"] = to_float<double, float, 0, false, false, false>;
  t["cvt.ftz.f64.f32"] = to_float<double, float, 0, true, false, false>;
  t["cvt.f64.f16"] = to_float<double, F16, 0, false, false, false>;
  t["cvt.f64.bf16"] = to_float<double, BF16, 0, false, false, false>;
  t["cvt.sat.f32.f32"] = to_float<float, float, 0, false, true, false>;
  t["cvt.ftz.sat.f32.f32"] = to_float<float, float, 0, true, true, false>;
  t["cvt.ftz.f32.f32"] = to_float<float, float, 0, true, false, false>;
  t["cvt.f32.f32"] = to_float<float, float, 0, false, false, false>;
  t["cvt.f64.f64"] = to_float<double, double, 0, false, false, false>;
  t["cvt.sat.f64.f64"] = to_float<double, double, 0, false, true, false>;
  t["cvt.sat.f16.f16"] = to_float<F16, F16, 0, false, true, false>;
  t["cvt.f16.f16"] = to_float<F16, F16, 0, false, false, false>;
  t["cvt.sat.f32.f16"] = t["cvt.ftz.sat.f32.f16"] = to_float<float, F16, 0, false, true, false>;
  t["cvt.sat.f64.f32"] = to_float<double, float, 0, false, true, false>;
  t["cvt.ftz.sat.f64.f32"] = to_float<double, float, 0, true, true, false>;
  fill_fp8(t);
  fill_video(t);
  t["cvt.rna.tf32.f32"] = to_tf32<4>;
}

}  // namespace hone::emulator
