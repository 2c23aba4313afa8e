#include "evaluator/device/emulator/sim/tensor_map.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

namespace hone::emulator {
namespace {

constexpr std::uint64_t kMagic = 0x50414D5445454E4FULL;

struct Encoded {
  std::uint64_t magic = kMagic;
  std::uint64_t address = 0;
  std::uint64_t sizes[5] = {};
  std::uint64_t strides[4] = {};
  std::uint16_t box[5] = {};
  std::uint8_t element_strides[5] = {};
  std::uint8_t type = 0, rank = 0, swizzle = 0, fill = 0;
};
static_assert(sizeof(Encoded) <= 128);

bool is_float(TensorMapSpec::Type t) {
  using Type = TensorMapSpec::Type;
  return t == Type::kF16 || t == Type::kBF16 || t == Type::kF32 || t == Type::kF64;
}

}  // namespace

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
      return 4;
    case Type::kU64:
    case Type::kS64:
    case Type::kF64:
      return 8;
  }
  return 1;
}

// The limits are those of cuTensorMapEncodeTiled (CUDA driver API, tensor map
// object management).
Result<std::array<std::uint8_t, 128>> encode_tiled_tensor_map(const TensorMapSpec& spec) {
  const auto bad = [](std::string why) {
    return std::unexpected(Error{ErrorCode::kInvalidInput, "tensor map: " + std::move(why)});
  };
  if (spec.rank < 1 || spec.rank > 5) return bad(fmt::format("rank {} (1 to 5)", spec.rank));
  const int bytes = element_bytes(spec.type);
  if (spec.address == 0 || spec.address % 16 != 0)
    return bad(fmt::format("the global address {:#x} is not a multiple of 16", spec.address));
  const auto rank = static_cast<std::size_t>(spec.rank);
  Encoded e;
  e.address = spec.address;
  for (std::size_t i = 0; i < rank; ++i) {
    if (spec.sizes[i] == 0 || spec.sizes[i] > (std::uint64_t{1} << 32))
      return bad(fmt::format("size {} of dimension {} (1 to 2^32)", spec.sizes[i], i));
    if (spec.box[i] == 0 || spec.box[i] > 256)
      return bad(fmt::format("box of {} in dimension {} (1 to 256)", spec.box[i], i));
    if (spec.element_strides[i] == 0 || spec.element_strides[i] > 8)
      return bad(
          fmt::format("element stride {} in dimension {} (1 to 8)", spec.element_strides[i], i));
    if (i + 1 < rank && (spec.strides[i] % 16 != 0 || spec.strides[i] == 0 ||
                         spec.strides[i] >= (std::uint64_t{1} << 40)))
      return bad(fmt::format("stride of {} B in dimension {} (a multiple of 16, below 2^40)",
                             spec.strides[i], i + 1));
    e.sizes[i] = spec.sizes[i];
    e.box[i] = static_cast<std::uint16_t>(spec.box[i]);
    e.element_strides[i] = static_cast<std::uint8_t>(spec.element_strides[i]);
    if (i + 1 < rank) e.strides[i] = spec.strides[i];
  }
  const std::uint64_t inner = std::uint64_t{spec.box[0]} * static_cast<unsigned>(bytes);
  if (inner % 16 != 0)
    return bad(fmt::format("the box's rows have {} B, which is no multiple of 16", inner));
  const std::uint64_t widest = spec.swizzle == TensorMapSpec::Swizzle::k32B    ? 32
                               : spec.swizzle == TensorMapSpec::Swizzle::k64B  ? 64
                               : spec.swizzle == TensorMapSpec::Swizzle::k128B ? 128
                                                                               : inner;
  if (inner > widest)
    return bad(fmt::format("the box's rows have {} B, a swizzle of {} B takes at most {}", inner,
                           widest, widest));
  if (spec.fill == TensorMapSpec::Fill::kNan && !is_float(spec.type))
    return bad("filling with NaN needs a floating-point type");
  e.type = static_cast<std::uint8_t>(spec.type);
  e.rank = static_cast<std::uint8_t>(spec.rank);
  e.swizzle = static_cast<std::uint8_t>(spec.swizzle);
  e.fill = static_cast<std::uint8_t>(spec.fill);
  std::array<std::uint8_t, 128> out{};
  std::memcpy(out.data(), &e, sizeof e);
  return out;
}

std::optional<TensorMapSpec> decode_tensor_map(const std::array<std::uint8_t, 128>& bytes) {
  Encoded e;
  std::memcpy(&e, bytes.data(), sizeof e);
  if (e.magic != kMagic) return std::nullopt;
  TensorMapSpec spec;
  spec.type = static_cast<TensorMapSpec::Type>(e.type);
  spec.rank = e.rank;
  spec.address = e.address;
  spec.swizzle = static_cast<TensorMapSpec::Swizzle>(e.swizzle);
  spec.fill = static_cast<TensorMapSpec::Fill>(e.fill);
  for (std::size_t i = 0; i < 5; ++i) {
    spec.sizes[i] = e.sizes[i];
    spec.box[i] = e.box[i];
    spec.element_strides[i] = e.element_strides[i];
    if (i < 4) spec.strides[i] = e.strides[i];
  }
  return spec;
}

}  // namespace hone::emulator
