// Which unit of an SM an instruction keeps busy. NVIDIA documents none of it: the opcodes are those
// that its disassembler names on sm_90 (tests/unit/evaluator/pipes_test.cpp compares them where
// cuobjdump is installed), the units follow from how fast micro-kernels run on an H200.
#pragma once

#include <cstdint>

namespace hone::sass {

/// kNone: only an issue slot, or a unit that the emulator counts itself (memory, shuffles, tensor
/// cores, half precision).
enum class Pipe : std::uint8_t { kNone, kAlu, kFma, kImad, kImadWide, kXu, kFp64 };

/// By the low nine bits of the opcode.
[[nodiscard]] Pipe pipe_of(std::uint16_t opcode);

}  // namespace hone::sass
