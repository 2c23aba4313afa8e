// The lane operations built for AVX2.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "evaluator/device/emulator/lanes/warp_loops.h"
#include "evaluator/device/emulator/ptx/isa.h"

// After the headers, so that their inline functions stay portable.
#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
#endif
namespace hone::emulator::lanes_avx2 {
namespace {
#include "evaluator/device/emulator/lanes/lane_ops.inc"
#include "evaluator/device/emulator/lanes/warp_loops.inc"
}  // namespace

WarpLoops loops() { return make_loops(); }
void fill(std::unordered_map<std::string, LaneFn>& table) { fill_table(table); }

}  // namespace hone::emulator::lanes_avx2
#if defined(__x86_64__)
#pragma GCC pop_options
#endif
