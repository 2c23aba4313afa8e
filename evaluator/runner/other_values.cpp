#include "evaluator/runner/other_values.h"

#include <algorithm>
#include <cmath>

#include "evaluator/fill/formula_cpu.h"

namespace hone::runner {
namespace {

constexpr double kFarOff = 4;  // times the largest magnitude that a buffer holds

bool is_sorted_fill(Fill::Kind kind) {
  return kind == Fill::Kind::kSorted || kind == Fill::Kind::kFalling;
}

}  // namespace

OtherValues::OtherValues(const ConcreteBuffer& buffer, Element element, std::uint64_t sampled)
    : buffer_(buffer), element_(std::move(element)) {
  const int type = static_cast<int>(buffer.type);
  const auto elements = static_cast<std::uint64_t>(buffer.elements());
  if (elements == 0 || is_sorted_fill(buffer.fill.kind)) return;
  double magnitude = 0;
  least_ = most_ = element_(0);
  const std::uint64_t step =
      std::max<std::uint64_t>(1, elements / std::max<std::uint64_t>(1, sampled));
  for (std::uint64_t i = 0; i < elements; i += step) {
    const std::uint64_t bits = element_(i);
    const double value = hone_decode(type, bits);
    if (std::isfinite(value)) magnitude = std::max(magnitude, std::abs(value));
    if (value < hone_decode(type, least_)) least_ = bits;
    if (value > hone_decode(type, most_)) most_ = bits;
  }
  if (!is_float(buffer.type)) return;
  const double far = kFarOff * (magnitude > 0 ? magnitude : 1);
  least_ = hone_encode_float(type, -far);
  most_ = hone_encode_float(type, far);
}

std::vector<std::uint64_t> OtherValues::of(std::uint64_t first, std::uint64_t last) const {
  if (buffer_.type == ScalarType::kBool)
    return first == last ? std::vector<std::uint64_t>{element_(first) == 0 ? 1ULL : 0ULL}
                         : std::vector<std::uint64_t>{1, 0};
  std::vector<std::uint64_t> values;
  const auto add = [&](std::uint64_t bits) {
    bool other = false;
    for (std::uint64_t i = first; i <= last && !other; ++i) other = element_(i) != bits;
    if (other) values.push_back(bits);
  };
  if (is_sorted_fill(buffer_.fill.kind)) {
    const auto width = static_cast<std::uint64_t>(buffer_.shape.empty() ? 1 : buffer_.shape.back());
    if (first / width != last / width) return values;  // no one value fits in two rows
    if (first % width > 0) add(element_(first - 1));
    if (last % width + 1 < width) add(element_(last + 1));
    return values;
  }
  for (const std::uint64_t bits : {most_, least_}) add(bits);
  return values;
}

}  // namespace hone::runner
