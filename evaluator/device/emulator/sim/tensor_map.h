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

}  // namespace hone::emulator
