// The lane operations built for AVX512.
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
#pragma GCC target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")
#endif
namespace hone::emulator::lanes_avx512 {
namespace {
#include "evaluator/device/emulator/lanes/lane_ops.inc"
#include "evaluator/device/emulator/lanes/warp_loops.inc"
}  // namespace

WarpLoops loops() { return make_loops(); }
void fill(std::unordered_map<std::string, LaneFn>& table) { fill_table(table); }

}  // namespace hone::emulator::lanes_avx512
#if defined(__x86_64__)
#pragma GCC pop_options
#endif
