// What a kernel can do to other blocks, read off its code (and that of the functions it calls).
#pragma once

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

struct Traits {
  /// Has both a fence and something to publish through: blocks may be ordered by more than the
  /// launch.
  bool communicates = false;
  /// The answer does not hang on when its blocks run, as long as none touches what another writes:
  /// no clock, no text, no volatile access, and only atomics whose order cannot be told.
  bool independent = true;
  bool counts = false;    ///< asks for the old value of an atomic on global memory
  int granule_shift = 2;  ///< log2 of the narrowest store to global memory, at most 2
};

[[nodiscard]] Traits traits_of(const ModuleImpl& module, int function);

}  // namespace hone::emulator
