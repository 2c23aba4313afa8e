// What becomes of loaded values, as far as the race check asks: which plain loads may meet a write
// and do no harm.
#pragma once

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

/// Sets Inst::guess: the value of a plain load is what a compare-and-swap expects to find, so a
/// stale one only costs another round. Before that it may be computed with and branched upon; one
/// that is stored, or used as an address, or shown to other lanes, on a way around the
/// compare-and-swap is no guess. After labels are resolved and find_variables.
void find_guesses(Function& function);

/// Sets Inst::choice: loads of one register that only selections read, as one of the two values.
/// Compilers load for all lanes what the source reads for some.
void find_choices(Function& function);

}  // namespace hone::emulator
