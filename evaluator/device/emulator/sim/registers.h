// The registers of 32 lanes, for a few of a kernel's instructions that are computed without a
// block: block_kinds.cpp and data_kinds.cpp. Belongs to one thread; the module has to outlive it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "evaluator/device/emulator/ptx/isa.h"
#include "evaluator/device/emulator/sim/warp.h"

namespace hone::emulator {

class Registers {
 public:
  /// All of a function's registers, zero at first.
  Registers(const ModuleImpl& module, const Function& function) : module_(module) {
    frame_.resize(function.frame_bytes + kWideHalf);
  }

  /// A register or, of a negative slot, a constant, which nobody writes. An operand that is not
  /// there (kNone) lies anywhere: no instruction looks at it.
  [[nodiscard]] void* reg(Slot s) {
    if (s == kNone) return frame_.data();
    return s >= 0 ? frame_.data() + s : const_cast<std::uint8_t*>(module_.constants.data()) + ~s;
  }
  [[nodiscard]] std::uint32_t* reg32(Slot s) { return static_cast<std::uint32_t*>(reg(s)); }
  [[nodiscard]] std::uint64_t* reg64(Slot s) { return static_cast<std::uint64_t*>(reg(s)); }

  /// wide: the register has 64 bits.
  void put(Slot to, bool wide, std::size_t lane, std::uint64_t value) {
    if (wide)
      reg64(to)[lane] = value;
    else
      reg32(to)[lane] = static_cast<std::uint32_t>(value);
  }

  /// Computes an instruction of Kind::kLane for all 32 lanes.
  void compute(const Inst& in) {
    in.fn(reg(in.d), reg(in.a), reg(in.b), reg(in.c), ~0u, static_cast<std::uint32_t>(in.imm));
  }

 private:
  const ModuleImpl& module_;
  AlignedBytes frame_;
};

}  // namespace hone::emulator
