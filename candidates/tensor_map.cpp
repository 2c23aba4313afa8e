#include "candidates/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "candidates/saturated.h"

namespace hone {
namespace {

bool is_floating(TensorMapSpec::Type type) {
  using Type = TensorMapSpec::Type;
  return type == Type::kF16 || type == Type::kBF16 || type == Type::kF32 || type == Type::kTf32 ||
         type == Type::kF64;
}

}  // namespace

TensorMapSpec::Type spec_type(ScalarType type, bool as_tf32) {
  using Type = TensorMapSpec::Type;
  switch (type) {
    case ScalarType::kF32:
      return as_tf32 ? Type::kTf32 : Type::kF32;
    case ScalarType::kF64:
      return Type::kF64;
    case ScalarType::kF16:
      return Type::kF16;
    case ScalarType::kBf16:
      return Type::kBF16;
    case ScalarType::kI32:
      return Type::kS32;
    case ScalarType::kI64:
      return Type::kS64;
    default:
      break;
  }
  // Bits that are copied as they are.
  switch (size_of(type)) {
    case 1:
      return Type::kU8;
    case 2:
      return Type::kU16;
    case 4:
      return Type::kU32;
    default:
      return Type::kU64;
  }
}

TensorMapSpec::Swizzle spec_swizzle(int bytes) {
  switch (bytes) {
    case 32:
      return TensorMapSpec::Swizzle::k32B;
    case 64:
      return TensorMapSpec::Swizzle::k64B;
    case 128:
      return TensorMapSpec::Swizzle::k128B;
    default:
      return TensorMapSpec::Swizzle::kNone;
  }
}

int element_bytes(TensorMapSpec::Type type) {
  using Type = TensorMapSpec::Type;
  switch (type) {
    case Type::kU8:
      return 1;
    case Type::kU16:
    case Type::kF16:
    case Type::kBF16:
      return 2;
    case Type::kU32:
    case Type::kS32:
    case Type::kF32:
    case Type::kTf32:
      return 4;
    case Type::kU64:
    case Type::kS64:
    case Type::kF64:
      return 8;
  }
  return 1;
}

std::string mistake_in(const TensorMapSpec& spec) {
  if (spec.rank < 1 || spec.rank > 5) return fmt::format("rank {} (1 to 5)", spec.rank);
  const int bytes = element_bytes(spec.type);
  const auto rank = static_cast<std::size_t>(spec.rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (spec.sizes[i] == 0 || spec.sizes[i] > (std::uint64_t{1} << 32))
      return fmt::format("size {} of dimension {} (1 to 2^32)", spec.sizes[i], i);
    if (spec.box[i] == 0 || spec.box[i] > 256)
      return fmt::format("box of {} in dimension {} (1 to 256)", spec.box[i], i);
    if (spec.element_strides[i] == 0 || spec.element_strides[i] > 8)
      return fmt::format("element stride {} in dimension {} (1 to 8)", spec.element_strides[i], i);
    if (i + 1 < rank && (spec.strides[i] % 16 != 0 || spec.strides[i] == 0 ||
                         spec.strides[i] >= (std::uint64_t{1} << 40)))
      return fmt::format("stride of {} B in dimension {} (a multiple of 16, below 2^40)",
                         spec.strides[i], i + 1);
  }
  const std::uint64_t inner = std::uint64_t{spec.box[0]} * static_cast<unsigned>(bytes);
  if (inner % 16 != 0)
    return fmt::format("the box's rows have {} B, which is no multiple of 16", inner);
  const std::uint64_t widest = spec.swizzle == TensorMapSpec::Swizzle::k32B    ? 32
                               : spec.swizzle == TensorMapSpec::Swizzle::k64B  ? 64
                               : spec.swizzle == TensorMapSpec::Swizzle::k128B ? 128
                                                                               : inner;
  if (inner > widest)
    return fmt::format("the box's rows have {} B, a swizzle of {} B takes at most {}", inner,
                       widest, widest);
  if (spec.fill == TensorMapSpec::Fill::kNan && !is_floating(spec.type))
    return "filling with NaN needs a floating-point type";
  return {};
}

TensorMapSpec spec_of(const ConcreteTensorMap& map, ScalarType type, std::uint64_t address) {
  TensorMapSpec spec;
  spec.type = spec_type(type, map.as_tf32);
  spec.rank = static_cast<int>(map.shape.size());
  spec.address = address;
  spec.swizzle = spec_swizzle(map.swizzle);
  const std::size_t rank = map.shape.size();
  for (std::size_t i = 0; i < rank && i < spec.sizes.size(); ++i) {
    const std::size_t from = rank - 1 - i;
    spec.sizes[i] = static_cast<std::uint64_t>(map.shape[from]);
    spec.box[i] = static_cast<std::uint32_t>(std::min<std::int64_t>(map.box[from], UINT32_MAX));
    if (i > 0) spec.strides[i - 1] = static_cast<std::uint64_t>(map.strides[from]) * size_of(type);
  }
  return spec;
}

std::string mistake_in(const ConcreteTensorMap& map, ScalarType type) {
  const std::size_t rank = map.shape.size();
  if (rank < 1 || rank > 5) return fmt::format("{} dimensions (1 to 5)", rank);
  if (map.box.size() != rank || map.strides.size() + 1 != rank)
    return "a box, a shape and strides of different ranks";
  if (map.as_tf32 && type != ScalarType::kF32)
    return fmt::format("elements of {} rounded to tf32, as only those of f32 are", to_string(type));
  return mistake_in(spec_of(map, type, 0));
}

std::int64_t elements_reached(const ConcreteTensorMap& map) {
  std::int64_t reached = map.shape.back();
  for (std::size_t i = 0; i + 1 < map.shape.size(); ++i) {
    std::int64_t offset = 0;
    if (__builtin_mul_overflow(map.shape[i] - 1, map.strides[i], &offset)) return INT64_MAX;
    reached = saturated_sum(reached, offset);
  }
  return reached;
}

}  // namespace hone
