// Tensor-core tiles built for any x86-64.
#include <bit>
#include <cstdint>
#include <cstring>

#include "evaluator/device/emulator/lanes/dot.h"

namespace hone::emulator::dot_baseline {
namespace {
constexpr int kLanes = 4;
#include "evaluator/device/emulator/lanes/dot.inc"
#include "evaluator/device/emulator/lanes/fragments.inc"
}  // namespace

DotLoops loops() { return make_dot_loops(); }

}  // namespace hone::emulator::dot_baseline
