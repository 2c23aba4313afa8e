#include "evaluator/device/emulator/sim/tensor_map.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "evaluator/device/emulator/sim/opaque.h"

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

template <class Change>
void for_words(std::array<std::uint8_t, 128>& bytes, Change change) {
  for (std::uint32_t k = 0; k < bytes.size() / 8; ++k) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + 8 * k, 8);
    word = change(word, k + 1);
    std::memcpy(bytes.data() + 8 * k, &word, 8);
  }
}

}  // namespace

Result<std::array<std::uint8_t, 128>> encode_tiled_tensor_map(const TensorMapSpec& spec) {
  std::string mistake = mistake_in(spec);
  if (mistake.empty() && (spec.address == 0 || spec.address % 16 != 0))
    mistake = fmt::format("the global address {:#x} is not a multiple of 16", spec.address);
  if (!mistake.empty()) return invalid("tensor map: " + mistake);
  const auto rank = static_cast<std::size_t>(spec.rank);
  Encoded e;
  e.address = spec.address;
  for (std::size_t i = 0; i < rank; ++i) {
    e.sizes[i] = spec.sizes[i];
    e.box[i] = static_cast<std::uint16_t>(spec.box[i]);
    e.element_strides[i] = static_cast<std::uint8_t>(spec.element_strides[i]);
    if (i + 1 < rank) e.strides[i] = spec.strides[i];
  }
  e.type = static_cast<std::uint8_t>(spec.type);
  e.rank = static_cast<std::uint8_t>(spec.rank);
  e.swizzle = static_cast<std::uint8_t>(spec.swizzle);
  e.fill = static_cast<std::uint8_t>(spec.fill);
  std::array<std::uint8_t, 128> out{};
  std::memcpy(out.data(), &e, sizeof e);
  for_words(out, scrambled);
  return out;
}

std::optional<TensorMapSpec> decode_tensor_map(const std::array<std::uint8_t, 128>& bytes) {
  std::array<std::uint8_t, 128> plain = bytes;
  for_words(plain, unscrambled);
  Encoded e;
  std::memcpy(&e, plain.data(), sizeof e);
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
