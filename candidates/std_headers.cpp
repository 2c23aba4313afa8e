#include "candidates/std_headers.h"

namespace hone {
namespace {

constexpr const char* kNothing = "#pragma once\n";

// 64-bit types as CCCL has them under NVRTC, so that both may be included.
constexpr const char* kStdint = R"(#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
#ifndef INT8_MIN
#define INT8_MIN (-128)
#endif
#ifndef INT8_MAX
#define INT8_MAX 127
#endif
#ifndef UINT8_MAX
#define UINT8_MAX 255
#endif
#ifndef INT16_MIN
#define INT16_MIN (-32768)
#endif
#ifndef INT16_MAX
#define INT16_MAX 32767
#endif
#ifndef UINT16_MAX
#define UINT16_MAX 65535
#endif
#ifndef INT32_MIN
#define INT32_MIN (-2147483647 - 1)
#endif
#ifndef INT32_MAX
#define INT32_MAX 2147483647
#endif
#ifndef UINT32_MAX
#define UINT32_MAX 4294967295U
#endif
#ifndef INT64_MIN
#define INT64_MIN (-9223372036854775807LL - 1)
#endif
#ifndef INT64_MAX
#define INT64_MAX 9223372036854775807LL
#endif
#ifndef UINT64_MAX
#define UINT64_MAX 18446744073709551615ULL
#endif
#ifndef SIZE_MAX
#define SIZE_MAX 18446744073709551615UL
#endif
)";

constexpr const char* kStdintStd = R"(#pragma once
#include <stdint.h>
namespace std {
using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t;
using ::int32_t; using ::uint32_t; using ::int64_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t;
}
)";

constexpr const char* kLimits = R"(#pragma once
#ifndef CHAR_BIT
#define CHAR_BIT 8
#endif
#ifndef SCHAR_MIN
#define SCHAR_MIN (-128)
#endif
#ifndef SCHAR_MAX
#define SCHAR_MAX 127
#endif
#ifndef UCHAR_MAX
#define UCHAR_MAX 255
#endif
#ifndef CHAR_MIN
#define CHAR_MIN SCHAR_MIN
#endif
#ifndef CHAR_MAX
#define CHAR_MAX SCHAR_MAX
#endif
#ifndef SHRT_MIN
#define SHRT_MIN (-32768)
#endif
#ifndef SHRT_MAX
#define SHRT_MAX 32767
#endif
#ifndef USHRT_MAX
#define USHRT_MAX 65535
#endif
#ifndef INT_MIN
#define INT_MIN (-2147483647 - 1)
#endif
#ifndef INT_MAX
#define INT_MAX 2147483647
#endif
#ifndef UINT_MAX
#define UINT_MAX 4294967295U
#endif
#ifndef LONG_MIN
#define LONG_MIN (-9223372036854775807L - 1)
#endif
#ifndef LONG_MAX
#define LONG_MAX 9223372036854775807L
#endif
#ifndef ULONG_MAX
#define ULONG_MAX 18446744073709551615UL
#endif
#ifndef LLONG_MIN
#define LLONG_MIN (-9223372036854775807LL - 1)
#endif
#ifndef LLONG_MAX
#define LLONG_MAX 9223372036854775807LL
#endif
#ifndef ULLONG_MAX
#define ULLONG_MAX 18446744073709551615ULL
#endif
)";

constexpr const char* kFloat = R"(#pragma once
#ifndef FLT_RADIX
#define FLT_RADIX 2
#endif
#ifndef FLT_MANT_DIG
#define FLT_MANT_DIG 24
#endif
#ifndef FLT_DIG
#define FLT_DIG 6
#endif
#ifndef FLT_EPSILON
#define FLT_EPSILON 1.1920928955078125e-07F
#endif
#ifndef FLT_MIN
#define FLT_MIN 1.1754943508222875e-38F
#endif
#ifndef FLT_MAX
#define FLT_MAX 3.4028234663852886e+38F
#endif
#ifndef FLT_MIN_EXP
#define FLT_MIN_EXP (-125)
#endif
#ifndef FLT_MAX_EXP
#define FLT_MAX_EXP 128
#endif
#ifndef DBL_MANT_DIG
#define DBL_MANT_DIG 53
#endif
#ifndef DBL_DIG
#define DBL_DIG 15
#endif
#ifndef DBL_EPSILON
#define DBL_EPSILON 2.2204460492503131e-16
#endif
#ifndef DBL_MIN
#define DBL_MIN 2.2250738585072014e-308
#endif
#ifndef DBL_MAX
#define DBL_MAX 1.7976931348623157e+308
#endif
#ifndef DBL_MIN_EXP
#define DBL_MIN_EXP (-1021)
#endif
#ifndef DBL_MAX_EXP
#define DBL_MAX_EXP 1024
#endif
)";

// NVRTC declares the functions themselves.
constexpr const char* kMath = R"(#pragma once
#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#endif
#ifndef NAN
#define NAN __builtin_bit_cast(float, 0x7fffffff)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF INFINITY
#endif
#ifndef HUGE_VAL
#define HUGE_VAL ((double)INFINITY)
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
)";

constexpr const char* kAssert = R"(#pragma once
#ifndef assert
#ifdef NDEBUG
#define assert(e) ((void)0)
#else
#define assert(e) ((e) ? (void)0 : __trap())
#endif
#endif
)";

constexpr const char* kCmath =
    "#pragma once\n#include <math.h>\n#include <cuda/std/cmath>\n"
    "namespace std { using namespace cuda::std; }\n";
constexpr const char* kCstddef =
    "#pragma once\n#include <cuda/std/cstddef>\n"
    "namespace std { using namespace cuda::std; }\n";
constexpr const char* kClimitsStd =
    "#pragma once\n#include <cuda/std/limits>\n"
    "namespace std { using namespace cuda::std; }\n";
constexpr const char* kTypeTraits =
    "#pragma once\n#include <cuda/std/type_traits>\n"
    "namespace std { using namespace cuda::std; }\n";
constexpr const char* kUtility =
    "#pragma once\n#include <cuda/std/utility>\n"
    "namespace std { using namespace cuda::std; }\n";
constexpr const char* kArray =
    "#pragma once\n#include <cuda/std/array>\n"
    "namespace std { using namespace cuda::std; }\n";
constexpr const char* kTuple =
    "#pragma once\n#include <cuda/std/tuple>\n"
    "namespace std { using namespace cuda::std; }\n";
constexpr const char* kAlgorithm =
    "#pragma once\n#include <cuda/std/__algorithm_>\n"
    "namespace std { using namespace cuda::std; }\n";
// The toolkit's is for hosts; a kernel that copies by a tensor map names its type.
constexpr const char* kCuda = R"(#pragma once
struct alignas(128) CUtensorMap_st {
  unsigned long long opaque[16];
};
typedef struct CUtensorMap_st CUtensorMap;
)";

}  // namespace

const std::vector<StdHeader>& std_headers() {
  static const std::vector<StdHeader> headers = {
      {"stdint.h", kStdint},
      {"cstdint", kStdintStd},
      {"inttypes.h", "#pragma once\n#include <stdint.h>\n"},
      {"limits.h", kLimits},
      {"climits", kLimits},
      {"float.h", kFloat},
      {"cfloat", kFloat},
      {"math.h", kMath},
      {"cmath", kCmath},
      {"assert.h", kAssert},
      {"cassert", kAssert},
      {"stdio.h", kNothing},
      {"cstdio", kNothing},
      {"stdlib.h", kNothing},
      {"cstdlib", kNothing},
      {"string.h", kNothing},
      {"cstring", kNothing},
      {"stddef.h", kNothing},
      {"stdbool.h", kNothing},
      {"cstddef", kCstddef},
      {"limits", kClimitsStd},
      {"type_traits", kTypeTraits},
      {"utility", kUtility},
      {"array", kArray},
      {"tuple", kTuple},
      {"algorithm", kAlgorithm},
      {"cuda.h", kCuda},
      {"cudaTypedefs.h", kCuda},
  };
  return headers;
}

bool is_std_header(std::string_view name) {
  for (const auto& header : std_headers()) {
    if (name == header.name) return true;
  }
  return false;
}

}  // namespace hone
