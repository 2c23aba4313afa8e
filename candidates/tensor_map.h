// Tensor maps: how bulk copies of tiles (TMA, `cp.async.bulk.tensor`, from sm_90 on) see a tensor
// in global memory. A kernel takes one as `const __grid_constant__ CUtensorMap`; who launches
// encodes it for the buffer's address. Source: CUDA driver API, "Tensor Map Object Managment",
// cuTensorMapEncodeTiled.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "candidates/scalar_type.h"

namespace hone {

/// What a CUtensorMap takes in a kernel's parameters, at a multiple of kTensorMapAlignment [B].
inline constexpr int kTensorMapBytes = 128;
inline constexpr int kTensorMapAlignment = 64;

/// What cuTensorMapEncodeTiled is told; dimension 0 is the one whose elements are neighbours.
struct TensorMapSpec {
  // In the order of CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapFloatOOBfill.
  // Of kTf32 are f32 that a copy to shared memory rounds.
  enum class Type { kU8, kU16, kU32, kS32, kU64, kS64, kF16, kF32, kF64, kBF16, kTf32 = 11 };
  enum class Swizzle { kNone, k32B, k64B, k128B };
  enum class Fill { kZero, kNan };  ///< of what lies beyond the tensor
  Type type = Type::kF32;
  int rank = 1;
  std::uint64_t address = 0;               ///< global
  std::array<std::uint64_t, 5> sizes{};    // [elements]
  std::array<std::uint64_t, 4> strides{};  ///< of dimensions 1 to rank - 1 [B]
  std::array<std::uint32_t, 5> box{};      // [elements]
  std::array<std::uint32_t, 5> element_strides{1, 1, 1, 1, 1};
  Swizzle swizzle = Swizzle::kNone;
  Fill fill = Fill::kZero;
};

/// As which a buffer of this type is copied: its bits stay, unless it is f32 that is rounded.
[[nodiscard]] TensorMapSpec::Type spec_type(ScalarType type, bool as_tf32);
[[nodiscard]] TensorMapSpec::Swizzle spec_swizzle(int bytes);  ///< of 0, 32, 64, 128
[[nodiscard]] int element_bytes(TensorMapSpec::Type type);

/// What the driver would refuse, whatever the address: "a stride of 24 B …". Empty: nothing.
[[nodiscard]] std::string mistake_in(const TensorMapSpec& spec);

/// A buffer as a launch gives it to bulk copies. Lists are outermost first, as a buffer's shape is.
struct ConcreteTensorMap {
  int buffer = 0;                   ///< its index in the program
  std::vector<std::int64_t> shape;  ///< 1 to 5 entries [elements]
  std::vector<std::int64_t>
      strides;                    ///< of all dimensions but the innermost, which is 1 [elements]
  std::vector<std::int64_t> box;  ///< what one copy moves, of as many dimensions [elements]
  int swizzle = 0;                ///< 0 (none), 32, 64 or 128 [B]
  /// Of a buffer of f32: copies to shared memory round to the nearest tf32 and clear the other
  /// bits. What copies to global memory write is not known.
  bool as_tf32 = false;

  bool operator==(const ConcreteTensorMap&) const = default;
};

/// Of a buffer of this type at this address (0: to be checked only). Zeros stand for what lies
/// beyond the tensor.
[[nodiscard]] TensorMapSpec spec_of(const ConcreteTensorMap& map, ScalarType type,
                                    std::uint64_t address);

/// Why no copy can go through the map of a buffer of this type: its lists do not belong together,
/// or the driver would refuse it. Empty: nothing.
[[nodiscard]] std::string mistake_in(const ConcreteTensorMap& map, ScalarType type);

/// The elements from the buffer's first to the map's last; the largest number where there are more.
[[nodiscard]] std::int64_t elements_reached(const ConcreteTensorMap& map);

}  // namespace hone
