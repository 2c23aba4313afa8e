// Tensor-core tiles built for AVX-512.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>

#include "evaluator/device/emulator/lanes/dot.h"

// After the headers, so that their inline functions stay portable.
#if defined(__x86_64__)
#define HONE_DOT_AVX512  // __AVX512F__ does not follow the pragma where preprocessing comes first
#pragma GCC push_options
#pragma GCC target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")
#endif
namespace hone::emulator::dot_avx512 {
namespace {
constexpr int kLanes = 16;
#include "evaluator/device/emulator/lanes/dot.inc"
#include "evaluator/device/emulator/lanes/fragments.inc"
}  // namespace

DotLoops loops() { return make_dot_loops(); }

}  // namespace hone::emulator::dot_avx512
#if defined(__x86_64__)
#pragma GCC pop_options
#endif
