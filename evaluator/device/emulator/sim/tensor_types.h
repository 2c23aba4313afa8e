// What each architecture's tensor cores do with each type.
#pragma once

#include "evaluator/device/emulator/lanes/dot.h"
#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

[[nodiscard]] DotInput dot_input(TensorType type);
/// wgmma: of sm_90's warpgroup instructions, else mma.sync and wmma.
[[nodiscard]] DotModel dot_model(const Profile& profile, TensorType input, TensorType result,
                                 bool wgmma);

}  // namespace hone::emulator
