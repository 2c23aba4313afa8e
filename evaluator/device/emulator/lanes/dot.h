// The arithmetic of a tensor core on one tile of 16 rows, in the best build for this CPU.
//
// What the hardware does is not documented by NVIDIA; the model is the one that published tests
// found bit-equal to real devices: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA
// tensor cores" (PeerJ CS 2021) and Xie et al., "MMA-Sim" (arXiv:2511.10909, tables 3-6). Products
// are exact. A chunk of `chunk` of them and the accumulator are aligned to the largest exponent
// among them (of the factors' exponents added up, not normalised), cut off towards zero below
// `fraction_bits` binary places of it, and added without error; the sum is rounded once. Chunks
// follow each other along k. Zeros do not count for the largest exponent.
#pragma once

#include <cstdint>

namespace hone::emulator {

enum class DotInput : std::uint8_t { kF16, kBF16, kTF32, kE4M3, kE5M2 };

struct DotModel {
  enum class Output : std::uint8_t {
    kF32,    ///< cut off towards zero
    kE8M13,  ///< the same with 13 fraction bits: fp8 on sm_89, and wgmma's
    kF16     ///< to nearest even
  };
  int fraction_bits = 25;
  int chunk = 16;
  Output output = Output::kF32;
  bool halves = false;  ///< sm_90's mma.sync of fp8: see sim/tensor.cpp
};

inline constexpr int kDotRows = 16;

/// One operand tile, prepared: row-parallel for A, one scalar after the other for B.
struct DotLoops {
  /// raw: `count` elements, zero-extended. False when some need dot_slow (infinite, NaN, or so
  /// large or small that products leave the range of a float).
  bool (*convert)(DotInput type, const std::uint32_t* raw, int count, float* value,
                  std::int16_t* exponent);
  /// c[j][16] += A (k x 16, k-major) * B (n x k, n-major). f16 accumulators are held as floats.
  /// Where an accumulator is infinite or NaN, it and its neighbours are left alone: redo[g] is set
  /// for the g-th group of `lanes` elements of c, which need dot_slow. True when some was set.
  bool (*dot)(const DotModel& model, int n, int k, const float* a, const std::int16_t* ea,
              const float* b, const std::int16_t* eb, float* c, bool* redo);
  /// The same for integers, whose sums are exact in floats: |sum| < 2^24. n is a multiple of 8.
  void (*integer)(int n, int k, const float* a, const float* b, bool saturate, std::int32_t* c);
  /// d = fma chain along k.
  void (*real64)(int n, int k, const double* a, const double* b, double* c);
  int lanes = 16;  ///< a group of redo[]

  // Fragments (sim/tensor.cpp) of one block, r[] their registers; `tall`: of 16 rows, else of 8,
  // and what the tiles have below those means nothing.
  /// A's elements of `bits`, zero-extended, k-major.
  void (*fragment_a)(int bits, int regs, bool tall, const std::uint32_t* const* r,
                     std::uint32_t* raw);
  /// B's, n-major.
  void (*fragment_b)(int bits, int regs, int k, const std::uint32_t* const* r, std::uint32_t* raw);
  void (*convert_integer)(bool is_signed, int bits, const std::uint32_t* raw, int count,
                          float* value);
  /// c[j][16] from the registers, or into them; `half`: pairs of f16 there, floats here.
  void (*load_sums)(bool half, bool tall, const std::uint32_t* const* r, std::uint32_t* c);
  void (*store_sums)(bool half, bool tall, const std::uint32_t* c, std::uint32_t* const* r);
};
[[nodiscard]] const DotLoops& dot_loops();

/// One element of the tile, for any operands; the definition that `dot` must agree with.
/// a: raw[k * stride], b: raw[k].
[[nodiscard]] float dot_slow(const DotModel& model, DotInput type_a, DotInput type_b, int k,
                             const std::uint32_t* a, int a_stride, const std::uint32_t* b, float c);

/// Exact.
[[nodiscard]] float dot_value(DotInput type, std::uint32_t raw);
[[nodiscard]] float half_value(std::uint16_t bits);
/// Of a float that is a half, an infinity or a NaN.
[[nodiscard]] std::uint16_t half_bits(float value);
/// To nearest even.
[[nodiscard]] std::uint16_t half_nearest(double value);

}  // namespace hone::emulator
