// Tensor-core instructions as the decoder leaves them: shapes, types and where the fragments are.
#pragma once

#include <cstdint>

namespace hone::emulator {

enum class TensorType : std::uint8_t {
  kF16,
  kBF16,
  kTF32,
  kE4M3,
  kE5M2,
  kS8,
  kU8,
  kS4,
  kU4,
  kB1,
  kF64,
  kF32,
  kS32
};
[[nodiscard]] constexpr bool is_fp8(TensorType t) {
  return t == TensorType::kE4M3 || t == TensorType::kE5M2;
}
[[nodiscard]] constexpr int tensor_bits(TensorType t) {
  switch (t) {
    case TensorType::kF16:
    case TensorType::kBF16:
      return 16;
    case TensorType::kTF32:
    case TensorType::kF32:
    case TensorType::kS32:
      return 32;
    case TensorType::kS4:
    case TensorType::kU4:
      return 4;
    case TensorType::kB1:
      return 1;
    case TensorType::kF64:
      return 64;
    default:
      return 8;
  }
}

/// One instruction of Kind::kTensor. Register lists lie one after the other in Function::extra,
/// from Inst::extra on: d, a, b, c. One block of A (16 or 8 rows) has a_regs registers, one of B (8
/// columns) b_regs, one of C c_regs, of D d_regs; blocks of A and B follow each other, those of C
/// go row of blocks by row of blocks.
struct TensorOp {
  enum class What : std::uint8_t {
    kGather,  ///< the whole warp must be here
    kMatch,   ///< the whole warp must agree on a pointer (a) and a stride (b)
    kMma,
    kSpread,     ///< ldmatrix, second half: rows held by lanes to fragments
    kCollect,    ///< stmatrix, first half
    kTranspose,  ///< movmatrix
    kWgmma,
    kWgmmaFence,
    kWgmmaCommit,
    kWgmmaWait
  };
  What what = What::kMma;
  TensorType a = TensorType::kF16, b = TensorType::kF16, c = TensorType::kF32, d = TensorType::kF32;
  std::uint16_t m = 16, n = 8, k = 16;
  std::uint8_t a_regs = 0, b_regs = 0, c_regs = 0, d_regs = 0;  ///< of one block
  std::uint8_t matrices = 0;                                    ///< ldmatrix, stmatrix
  bool transpose = false;
  bool saturate = false;
  bool b1_and = false;  ///< else xor
  // wgmma: of one warp of the four, m = 16
  bool a_shared = false;                    ///< A by a descriptor in Inst::a, else in registers
  bool a_across = false, b_across = false;  ///< rows of the other dimension lie in memory
  bool a_negated = false, b_negated = false;
  std::uint8_t pending = 0;   ///< kWgmmaWait: groups that may stay in flight
  std::int64_t offset = 0;    ///< kMatch: added to the pointer
  std::uint8_t align = 0;     ///< kMatch: of the pointer [B]
  std::uint8_t ld_align = 0;  ///< kMatch: of the stride [elements]
  [[nodiscard]] int rows() const { return m < 16 ? m : 16; }
  [[nodiscard]] int row_blocks() const { return m <= 16 ? 1 : m / 16; }
  [[nodiscard]] int column_blocks() const { return n / 8; }
  [[nodiscard]] std::uint64_t fmas() const { return std::uint64_t{m} * n * k; }
};

}  // namespace hone::emulator
