// What an 8-bit float is worth, by its definition and not by hone's own formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hone::testing {

/// e4m3 (CUDA's, without infinities) or e5m2.
inline double eight_bit_float(bool e4m3, std::uint8_t byte) {
  const int digits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, bits = byte & 0x7F;
  const int exponent = bits >> digits, mantissa = bits & ((1 << digits) - 1);
  double size = std::ldexp(exponent == 0 ? mantissa : mantissa + (1 << digits),
                           std::max(exponent, 1) - bias - digits);
  if (e4m3 ? bits == 0x7F : bits > 0x7C) size = NAN;
  if (!e4m3 && bits == 0x7C) size = HUGE_VAL;
  return (byte & 0x80) != 0 ? -size : size;
}

}  // namespace hone::testing
