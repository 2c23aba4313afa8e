// One machine instruction (sm_70 and later: 16 bytes, the opcode in the low 12 bits), as far as its
// class, where it may go next and the local memory that it moves. NVIDIA documents none of this:
// the encodings were read off kernels whose PTX is known and are checked by
// tests/unit/evaluator/sass.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hone::sass {

enum class Op : std::uint8_t {
  kOther,
  kFloat,  ///< f32 and f64 arithmetic, special functions and conversions
  kTensor,
  kLoadGlobal,
  kStoreGlobal,
  kLoadShared,
  kStoreShared,
  kLoadLocal,
  kStoreLocal,
  kLoadGeneric,
  kStoreGeneric,
  kAtomic,
  kCopyAsync,
  kShuffle,
  kBarrier,
  kBranch,
  kBranchIndexed,  ///< a table decides: the targets are not known here
  kCall,           ///< comes back
  kReturn,
  kExit,
};

struct Instruction {
  Op op = Op::kOther;
  std::uint16_t opcode = 0;  ///< with the form of its operands: 0x983
  bool conditional = false;  ///< predicated, or a branch with a condition of its own
  std::int64_t target = -1;  ///< of a branch or a call, from the function's begin [B]
  int bytes = 4;             ///< of local memory that a lane moves [B]
  std::uint8_t address = 0;  ///< register that a local access adds
  std::int32_t offset = 0;   ///< of a local access [B]
  /// What ptxas schedules: cycles until the next instruction may issue, the barrier (0 to 5) that
  /// opens when the result or the sources are done with, and the barriers that must be open before.
  std::uint8_t stall = 1, result_barrier = kNoBarrier, source_barrier = kNoBarrier, waits = 0;
  static constexpr std::uint8_t kNoBarrier = 7;

  /// A place in the frame that every lane has: a spill, not an array with an index.
  [[nodiscard]] bool in_frame() const;
  [[nodiscard]] bool is_local() const { return op == Op::kLoadLocal || op == Op::kStoreLocal; }
};

/// Every instruction of a function; bytes behind the last whole one are left out.
[[nodiscard]] std::vector<Instruction> decode(std::string_view code, int arch);

}  // namespace hone::sass
