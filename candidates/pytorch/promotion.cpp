#include "candidates/pytorch/promotion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone::pytorch {

int category(ScalarType type) { return type == ScalarType::kBool ? 0 : is_float(type) ? 2 : 1; }

namespace promotion {
namespace {

/// The type that elements of both meet in. PyTorch has i16 for i8 beside u8; i32 holds both, too.
ScalarType promoted(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return is_float(a) ? ScalarType::kF32 : ScalarType::kI32;  // f16 and bf16; i8 and u8
}

}  // namespace
}  // namespace promotion

void Promotion::add(std::size_t level, ScalarType type) {
  auto& known = levels_[level];
  known = known ? promotion::promoted(*known, type) : type;
}

ScalarType Promotion::type() const {
  std::optional<ScalarType> all;
  for (const auto& lower : levels_) {
    if (!lower) continue;
    if (!all || category(*all) == 0 || (category(*all) == 1 && category(*lower) == 2)) {
      all = all ? promotion::promoted(*all, *lower) : *lower;
    }
  }
  return all.value_or(ScalarType::kF32);
}

bool is_short(ScalarType type) { return type == ScalarType::kF16 || type == ScalarType::kBf16; }

std::string rounded_to(ScalarType type, const std::string& value) {
  return type == ScalarType::kF16 ? fmt::format("__half2float(__float2half({}))", value)
                                  : fmt::format("__bfloat162float(__float2bfloat16({}))", value);
}

bool is_exact(double value, ScalarType type) {
  if (value == 0 || !std::isfinite(value)) return true;
  int exponent = 0;
  const double digits = std::ldexp(std::frexp(value, &exponent), type == ScalarType::kF16 ? 11 : 8);
  return digits == std::trunc(digits) && exponent > -14 && exponent < 16;
}

}  // namespace hone::pytorch
