// The lane operations built for any x86-64.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "evaluator/device/emulator/lanes/warp_loops.h"
#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator::lanes_baseline {
namespace {
#include "evaluator/device/emulator/lanes/lane_ops.inc"
#include "evaluator/device/emulator/lanes/warp_loops.inc"
}  // namespace

WarpLoops loops() { return make_loops(); }
void fill(std::unordered_map<std::string, LaneFn>& table) { fill_table(table); }

}  // namespace hone::emulator::lanes_baseline
