// Control flow of one function: where divergent branches come together again.
#pragma once

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

/// Sets Inst::reconverge of every branch to its immediate post-dominator, -1 for "only at the end".
void find_reconvergence(Function& function);

}  // namespace hone::emulator
