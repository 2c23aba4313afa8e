// Is what a reference computes from exact inputs exact, so that a candidate may be asked for the
// same bits? Pure functions; they need the source, which runners do not get.
#pragma once

#include <string_view>

#include "candidates/program.h"

namespace hone::check {

/// `ptx`: what `reference` was compiled to. False where the program calls a function that rounds
/// whatever it is given (exp, sin, ...) or uses an instruction that approximates, and where it
/// multiplies 8-bit floats alone (`multiplies_fp8`): tensor cores add those with 13 places. Where
/// an output is of 16 bits or 8, whose rounding hides what was lost before, every division and root
/// and every constant of more than eight bits counts, too; elsewhere the run in double shows what
/// they lost.
[[nodiscard]] bool can_be_exact(const ConcreteProgram& reference, std::string_view ptx);

}  // namespace hone::check
