// What a function's code says about its registers before it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

/// An instruction with the address of a variable as an operand.
struct AddressSeed {
  std::int32_t inst = 0;
  std::uint16_t variable = 0;  ///< in Function::variables
  bool part = false;           ///< the result begins a part of the frame's one variable
};
inline constexpr std::uint16_t kSeveral = 0xFFFF;  ///< variables in one instruction: not followed

inline constexpr std::int32_t kNoRegister = -1;
/// The number of the register that begins at `slot`.
[[nodiscard]] std::int32_t register_at(const Function& function, Slot slot);

/// Fills Function::live_in and hollow: registers that some way through the code reads before it
/// writes them, and those that no instruction writes at all.
/// `declared`: by register, 0 for the decoder's own. After labels are resolved.
void find_live_in(Function& function, const std::vector<char>& declared);

/// Fills Inst::variable of accesses whose address can only have come from one variable's name, by
/// arithmetic with numbers that came from none. Where ways meet with different ones, it is unknown.
/// Parts of a frame's variable reach to the next part or to its end.
void find_variables(Function& function, const std::vector<AddressSeed>& seeds);

/// Sets Inst::unread and Inst::used.
void find_unread(Function& function);

/// Marks call arguments and results that no instruction of `function` stores.
void find_unset_formals(Function& function);

}  // namespace hone::emulator
