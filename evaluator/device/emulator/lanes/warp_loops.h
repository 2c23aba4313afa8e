// The loops over the 32 lanes that memory instructions need, in the best build for this CPU.
#pragma once

#include <cstdint>

namespace hone::emulator {

/// Approximate functions of f32 are off by an ulp here and there, as on a GPU: where, follows from
/// this and their operands; so do the bits of cache policies. Of the run that this thread is at;
/// 0: nowhere.
extern thread_local constinit std::uint64_t rounding_salt;

/// How a warp's addresses lie to each other, relative to lane 0 (lanes that do not run repeat one
/// that does).
struct AddressShape {
  alignas(64) std::uint64_t relative[32] = {};
  std::uint64_t low_bits = 0;           ///< or of all
  std::uint64_t least = 0, most = 0;    ///< signed
  alignas(64) std::int32_t offset[32];  ///< the same as relative, where that fits
  bool near = false;                    ///< it does
  /// Two bits for eight lanes each: see Run.
  std::uint8_t runs = 0;
  bool solid = false;  ///< every lane right after the one before it
};
/// Eight lanes: all at one place, one element after the other, or neither.
enum Run : std::uint8_t { kScattered = 0, kSame = 1, kDense = 2 };

/// Where the elements of one load or store lie: lane i at base + shape->offset[i].
struct Elements {
  const AddressShape* shape;
  std::uint8_t* base;  ///< of lane 0
  int stride;          ///< bytes that one lane takes: those of all elements of a vector access
};

/// One element of each lane into a register of 32 or of 64 bits a lane, or out of it; only lanes of
/// `mask` change. The shape is `near`. A store to one place leaves the last lane's. By the log2 of
/// an element's bytes, loads also by whether the sign is extended; null: there is none.
struct MoveLoops {
  using Load = void (*)(void* r, const Elements& from, std::uint32_t mask);
  using Store = void (*)(const void* r, const Elements& to, std::uint32_t mask);
  Load load[4][2] = {};
  Store store[4] = {};
};

struct WarpLoops {
  /// out[i] = a[i] + add; lanes outside `mask` copy an active one. True when the addresses lie to
  /// each other as `relative` says.
  bool (*wide)(std::uint64_t* out, const std::uint64_t* a, std::uint64_t add, std::uint32_t mask,
               const std::uint64_t* relative);
  bool (*narrow)(std::uint64_t* out, const std::uint32_t* a, std::uint32_t add, std::uint32_t mask,
                 const std::uint64_t* relative);
  /// a[i] - a[0] == relative[i] for every lane?
  bool (*same_pattern)(const std::uint64_t* a, const std::uint64_t* relative);
  /// The shape of addresses that are `stride` bytes wide.
  void (*shape)(const std::uint64_t* a, int stride, AddressShape& out);
  MoveLoops narrow_registers, wide_registers;
};

[[nodiscard]] const WarpLoops& warp_loops();

}  // namespace hone::emulator
