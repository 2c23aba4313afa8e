// Tensor-core tiles built for AVX2.
#include <bit>
#include <cstdint>
#include <cstring>

#include "evaluator/device/emulator/lanes/dot.h"

// After the headers, so that their inline functions stay portable.
#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
#endif
namespace hone::emulator::dot_avx2 {
namespace {
constexpr int kLanes = 8;
#include "evaluator/device/emulator/lanes/dot.inc"
#include "evaluator/device/emulator/lanes/fragments.inc"
}  // namespace

DotLoops loops() { return make_dot_loops(); }

}  // namespace hone::emulator::dot_avx2
#if defined(__x86_64__)
#pragma GCC pop_options
#endif
