// The second, denser form of a function's code: what the interpreter's loop reads instruction by
// instruction where code runs straight on.
#pragma once

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

/// Fills Function::ops and Function::timings. After find_reconvergence.
void straighten(Function& function);

}  // namespace hone::emulator
