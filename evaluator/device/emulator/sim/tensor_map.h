// The 128 bytes that stand for a tensor map here: what cuTensorMapEncodeTiled
// makes for a device is opaque, so the emulator has an encoding of its own
// (encode_tiled_tensor_map in emulator.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "evaluator/device/emulator/emulator.h"

namespace hone::emulator {

/// Null when the bytes are no tensor map of ours.
[[nodiscard]] std::optional<TensorMapSpec> decode_tensor_map(
    const std::array<std::uint8_t, 128>& bytes);

/// Where byte `offset` of shared memory lies once its 16-byte pieces are
/// swizzled: the bits that number the 128-byte lines of a pattern are added,
/// without carry, to those that number the pieces.
[[nodiscard]] inline std::uint64_t swizzled(TensorMapSpec::Swizzle swizzle, std::uint64_t offset) {
  switch (swizzle) {
    case TensorMapSpec::Swizzle::k32B:
      return offset ^ ((offset >> 3) & 0x10);
    case TensorMapSpec::Swizzle::k64B:
      return offset ^ ((offset >> 3) & 0x30);
    case TensorMapSpec::Swizzle::k128B:
      return offset ^ ((offset >> 3) & 0x70);
    default:
      return offset;
  }
}

/// What a copy through a tensor map of tf32 makes of the bits of an f32. On an H200 copies of 256
/// values without ties rounded to the nearest and left the lower 13 bits zero. That ties go away
/// from zero, as cvt.rna.tf32.f32 rounds them, and which NaN a NaN becomes has not been measured.
[[nodiscard]] constexpr std::uint32_t nearest_tf32(std::uint32_t bits) {
  constexpr std::uint32_t kInfinity = 0x7F800000, kQuiet = 0x00400000, kKept = 0xFFFFE000;
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > kInfinity) return (bits | kQuiet) & kKept;
  return (bits + 0x1000) & kKept;
}

}  // namespace hone::emulator
