#include "rewriters/syntax/prelude.h"

namespace hone::syntax {
namespace {

// Everything is __host__ __device__, so that a helper's own annotations never matter. Macros that
// only the prelude needs start with HONE_P_ and are undefined at its end.
constexpr std::string_view kPrelude = R"cuda(
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __maxnreg__(n)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __device_builtin__
#define __cudart_builtin__
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#undef __CUDA_ARCH__
#define __CUDA_ARCH__ 900
#define NULL 0
#define HONE_P_FN extern "C" __host__ __device__
// Declarations suffice, and every body costs: Clang reads each function with one at every parse.
#define HONE_P_HD static __inline__ __host__ __device__
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef unsigned long long cudaTextureObject_t;

#define HONE_P_V1(n, t, a) struct n##1 { t x; };
#define HONE_P_V2(n, t, a) struct __attribute__((aligned(a))) n##2 { t x, y; };
#define HONE_P_V3(n, t) struct n##3 { t x, y, z; };
#define HONE_P_V4(n, t, a) struct __attribute__((aligned(a))) n##4 { t x, y, z, w; };
#define HONE_P_VEC(n, t, a2, a4) HONE_P_V1(n, t, 1) HONE_P_V2(n, t, a2) HONE_P_V3(n, t) HONE_P_V4(n, t, a4) \
  HONE_P_HD n##1 make_##n##1(t x); \
  HONE_P_HD n##2 make_##n##2(t x, t y); \
  HONE_P_HD n##3 make_##n##3(t x, t y, t z); \
  HONE_P_HD n##4 make_##n##4(t x, t y, t z, t w);
HONE_P_VEC(char, signed char, 2, 4)
HONE_P_VEC(uchar, unsigned char, 2, 4)
HONE_P_VEC(short, short, 4, 8)
HONE_P_VEC(ushort, unsigned short, 4, 8)
HONE_P_VEC(int, int, 8, 16)
HONE_P_VEC(uint, unsigned int, 8, 16)
HONE_P_VEC(long, long, 16, 16)
HONE_P_VEC(ulong, unsigned long, 16, 16)
HONE_P_VEC(longlong, long long, 16, 16)
HONE_P_VEC(ulonglong, unsigned long long, 16, 16)
HONE_P_VEC(float, float, 8, 16)
HONE_P_VEC(double, double, 16, 16)
struct dim3 {
  unsigned int x, y, z;
  constexpr __host__ __device__ dim3(unsigned int a = 1, unsigned int b = 1, unsigned int c = 1) : x(a), y(b), z(c) {}
  constexpr __host__ __device__ dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr __host__ __device__ operator uint3() const { return {x, y, z}; }
};
extern const __device__ uint3 threadIdx;
extern const __device__ uint3 blockIdx;
extern const __device__ dim3 blockDim;
extern const __device__ dim3 gridDim;
extern const __device__ int warpSize;

#define HONE_P_1(name) HONE_P_FN float name##f(float); HONE_P_FN double name(double);
#define HONE_P_2(name) HONE_P_FN float name##f(float, float); HONE_P_FN double name(double, double);
HONE_P_1(sqrt) HONE_P_1(rsqrt) HONE_P_1(cbrt) HONE_P_1(rcbrt) HONE_P_1(exp) HONE_P_1(exp2) HONE_P_1(exp10) HONE_P_1(expm1)
HONE_P_1(log) HONE_P_1(log2) HONE_P_1(log10) HONE_P_1(log1p) HONE_P_1(logb) HONE_P_1(sin) HONE_P_1(cos) HONE_P_1(tan)
HONE_P_1(asin) HONE_P_1(acos) HONE_P_1(atan) HONE_P_1(sinh) HONE_P_1(cosh) HONE_P_1(tanh) HONE_P_1(asinh) HONE_P_1(acosh)
HONE_P_1(atanh) HONE_P_1(sinpi) HONE_P_1(cospi) HONE_P_1(erf) HONE_P_1(erfc) HONE_P_1(erfinv) HONE_P_1(erfcinv)
HONE_P_1(erfcx) HONE_P_1(normcdf) HONE_P_1(normcdfinv) HONE_P_1(lgamma) HONE_P_1(tgamma) HONE_P_1(j0) HONE_P_1(j1)
HONE_P_1(y0) HONE_P_1(y1) HONE_P_1(ceil) HONE_P_1(floor) HONE_P_1(trunc) HONE_P_1(round) HONE_P_1(rint) HONE_P_1(nearbyint)
HONE_P_1(fabs)
HONE_P_2(pow) HONE_P_2(fmod) HONE_P_2(remainder) HONE_P_2(atan2) HONE_P_2(hypot) HONE_P_2(rhypot) HONE_P_2(fmin)
HONE_P_2(fmax) HONE_P_2(fdim) HONE_P_2(copysign) HONE_P_2(nextafter) HONE_P_2(fdivide)
HONE_P_FN float fmaf(float, float, float); HONE_P_FN double fma(double, double, double);
HONE_P_FN float norm3df(float, float, float); HONE_P_FN double norm3d(double, double, double);
HONE_P_FN float rnorm3df(float, float, float); HONE_P_FN double rnorm3d(double, double, double);
HONE_P_FN float norm4df(float, float, float, float); HONE_P_FN float rnorm4df(float, float, float, float);
HONE_P_FN float ldexpf(float, int); HONE_P_FN double ldexp(double, int);
HONE_P_FN float scalbnf(float, int); HONE_P_FN double scalbn(double, int);
HONE_P_FN float scalblnf(float, long); HONE_P_FN double scalbln(double, long);
HONE_P_FN float frexpf(float, int*); HONE_P_FN double frexp(double, int*);
HONE_P_FN float modff(float, float*); HONE_P_FN double modf(double, double*);
HONE_P_FN void sincosf(float, float*, float*); HONE_P_FN void sincos(double, double*, double*);
HONE_P_FN void sincospif(float, float*, float*); HONE_P_FN void sincospi(double, double*, double*);
HONE_P_FN int ilogbf(float); HONE_P_FN int ilogb(double);
HONE_P_FN long lroundf(float); HONE_P_FN long lround(double); HONE_P_FN long lrintf(float); HONE_P_FN long lrint(double);
HONE_P_FN long long llroundf(float); HONE_P_FN long long llround(double);
HONE_P_FN long long llrintf(float); HONE_P_FN long long llrint(double);
HONE_P_FN float nanf(const char*); HONE_P_FN double nan(const char*);
HONE_P_FN int abs(int); HONE_P_FN long labs(long); HONE_P_FN long long llabs(long long);
#define HONE_P_O1(name) HONE_P_HD float name(float x);
#define HONE_P_O2(name) HONE_P_HD float name(float x, float y); \
  HONE_P_HD double name(double x, float y); \
  HONE_P_HD double name(float x, double y);
HONE_P_O1(sqrt) HONE_P_O1(rsqrt) HONE_P_O1(cbrt) HONE_P_O1(exp) HONE_P_O1(exp2) HONE_P_O1(expm1) HONE_P_O1(log) HONE_P_O1(log2)
HONE_P_O1(log10) HONE_P_O1(log1p) HONE_P_O1(logb) HONE_P_O1(sin) HONE_P_O1(cos) HONE_P_O1(tan) HONE_P_O1(asin) HONE_P_O1(acos)
HONE_P_O1(atan) HONE_P_O1(sinh) HONE_P_O1(cosh) HONE_P_O1(tanh) HONE_P_O1(asinh) HONE_P_O1(acosh) HONE_P_O1(atanh)
HONE_P_O1(erf) HONE_P_O1(erfc) HONE_P_O1(lgamma) HONE_P_O1(tgamma) HONE_P_O1(ceil) HONE_P_O1(floor) HONE_P_O1(trunc)
HONE_P_O1(round) HONE_P_O1(rint) HONE_P_O1(nearbyint) HONE_P_O1(fabs) HONE_P_O1(rcbrt) HONE_P_O1(exp10) HONE_P_O1(normcdf)
HONE_P_O2(pow) HONE_P_O2(fmod) HONE_P_O2(atan2) HONE_P_O2(hypot) HONE_P_O2(fmin) HONE_P_O2(fmax) HONE_P_O2(fdim)
HONE_P_O2(copysign)
HONE_P_HD float pow(float x, int y);
HONE_P_HD double pow(double x, int y);
HONE_P_HD float fma(float x, float y, float z);
HONE_P_HD float ldexp(float x, int e);
#define HONE_P_INT1(name) HONE_P_HD double name(int x);
HONE_P_INT1(sqrt) HONE_P_INT1(exp) HONE_P_INT1(log) HONE_P_INT1(sin) HONE_P_INT1(cos) HONE_P_INT1(floor) HONE_P_INT1(ceil)
HONE_P_HD float abs(float x);
HONE_P_HD double abs(double x);
HONE_P_HD long abs(long x);
HONE_P_HD long long abs(long long x);
#define HONE_P_MM(t) HONE_P_HD constexpr t min(t a, t b) { return b < a ? b : a; } \
  HONE_P_HD constexpr t max(t a, t b) { return a < b ? b : a; }
HONE_P_MM(int) HONE_P_MM(unsigned) HONE_P_MM(long) HONE_P_MM(unsigned long) HONE_P_MM(long long)
HONE_P_MM(unsigned long long) HONE_P_MM(float) HONE_P_MM(double)
#define HONE_P_MX(r, a, b) HONE_P_HD constexpr r min(a x, b y) { return min((r)x, (r)y); } \
  HONE_P_HD constexpr r max(a x, b y) { return max((r)x, (r)y); } \
  HONE_P_HD constexpr r min(b x, a y) { return min((r)x, (r)y); } \
  HONE_P_HD constexpr r max(b x, a y) { return max((r)x, (r)y); }
HONE_P_MX(unsigned, unsigned, int) HONE_P_MX(unsigned long, unsigned long, long)
HONE_P_MX(unsigned long long, unsigned long long, long long) HONE_P_MX(double, double, float)
HONE_P_FN int isnanf(float); HONE_P_FN int isinff(float); HONE_P_FN int finitef(float);
HONE_P_HD bool isnan(float x); HONE_P_HD bool isnan(double x);
HONE_P_HD bool isinf(float x); HONE_P_HD bool isinf(double x);
HONE_P_HD bool isfinite(float x);
HONE_P_HD bool isfinite(double x);
HONE_P_HD bool signbit(float x); HONE_P_HD bool signbit(double x);
namespace std {
using ::size_t; using ::ptrdiff_t;
using ::sqrt; using ::cbrt; using ::exp; using ::exp2; using ::expm1; using ::log; using ::log2; using ::log10; using ::log1p;
using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan; using ::sinh; using ::cosh; using ::tanh;
using ::asinh; using ::acosh; using ::atanh; using ::erf; using ::erfc; using ::lgamma; using ::tgamma; using ::ceil;
using ::floor; using ::trunc; using ::round; using ::rint; using ::nearbyint; using ::fabs; using ::pow; using ::fmod;
using ::atan2; using ::hypot; using ::fmin; using ::fmax; using ::fma; using ::abs; using ::isnan; using ::isinf;
using ::isfinite; using ::copysign; using ::ldexp; using ::sqrtf; using ::expf; using ::logf; using ::fabsf; using ::powf;
template <class T> __host__ __device__ constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr T max(T a, T b) { return a < b ? b : a; }
template <class T> __host__ __device__ constexpr T clamp(T v, T a, T b) { return v < a ? a : b < v ? b : v; }
template <class T> __host__ __device__ void swap(T& a, T& b) { T t = a; a = b; b = t; }
}

#define HONE_P_RND(name, args) HONE_P_FN float __f##name##_rn args; HONE_P_FN float __f##name##_rz args; \
  HONE_P_FN float __f##name##_ru args; HONE_P_FN float __f##name##_rd args;
#define HONE_P_DRND(name, args) HONE_P_FN double __d##name##_rn args; HONE_P_FN double __d##name##_rz args; \
  HONE_P_FN double __d##name##_ru args; HONE_P_FN double __d##name##_rd args;
HONE_P_RND(add, (float, float)) HONE_P_RND(sub, (float, float)) HONE_P_RND(mul, (float, float)) HONE_P_RND(div, (float, float))
HONE_P_RND(maf, (float, float, float)) HONE_P_RND(rcp, (float)) HONE_P_RND(sqrt, (float))
HONE_P_DRND(add, (double, double)) HONE_P_DRND(sub, (double, double)) HONE_P_DRND(mul, (double, double))
HONE_P_DRND(div, (double, double)) HONE_P_DRND(rcp, (double)) HONE_P_DRND(sqrt, (double))
HONE_P_FN double __fma_rn(double, double, double);
HONE_P_FN float __frsqrt_rn(float); HONE_P_FN float __fdividef(float, float); HONE_P_FN float __expf(float);
HONE_P_FN float __exp10f(float); HONE_P_FN float __logf(float); HONE_P_FN float __log2f(float); HONE_P_FN float __log10f(float);
HONE_P_FN float __sinf(float); HONE_P_FN float __cosf(float); HONE_P_FN float __tanf(float); HONE_P_FN float __powf(float, float);
HONE_P_FN float __tanhf(float); HONE_P_FN float __saturatef(float); HONE_P_FN void __sincosf(float, float*, float*);
HONE_P_FN int __clz(int); HONE_P_FN int __clzll(long long); HONE_P_FN int __ffs(int); HONE_P_FN int __ffsll(long long);
HONE_P_FN int __popc(unsigned); HONE_P_FN int __popcll(unsigned long long); HONE_P_FN unsigned __brev(unsigned);
HONE_P_FN unsigned long long __brevll(unsigned long long); HONE_P_FN unsigned __byte_perm(unsigned, unsigned, unsigned);
HONE_P_FN int __mulhi(int, int); HONE_P_FN unsigned __umulhi(unsigned, unsigned); HONE_P_FN long long __mul64hi(long long, long long);
HONE_P_FN unsigned long long __umul64hi(unsigned long long, unsigned long long); HONE_P_FN int __mul24(int, int);
HONE_P_FN unsigned __umul24(unsigned, unsigned); HONE_P_FN int __sad(int, int, unsigned); HONE_P_FN unsigned __usad(unsigned, unsigned, unsigned);
HONE_P_FN int __hadd(int, int); HONE_P_FN int __rhadd(int, int); HONE_P_FN unsigned __uhadd(unsigned, unsigned); HONE_P_FN unsigned __urhadd(unsigned, unsigned);
HONE_P_FN unsigned __funnelshift_l(unsigned, unsigned, unsigned); HONE_P_FN unsigned __funnelshift_r(unsigned, unsigned, unsigned);
HONE_P_FN unsigned __funnelshift_lc(unsigned, unsigned, unsigned); HONE_P_FN unsigned __funnelshift_rc(unsigned, unsigned, unsigned);
HONE_P_HD int __dp4a(int a, int b, int c);
HONE_P_HD unsigned __dp4a(unsigned a, unsigned b, unsigned c);
HONE_P_HD int __dp4a(char4 a, char4 b, int c);
HONE_P_FN int __float_as_int(float); HONE_P_FN unsigned __float_as_uint(float); HONE_P_FN float __int_as_float(int);
HONE_P_FN float __uint_as_float(unsigned); HONE_P_FN long long __double_as_longlong(double); HONE_P_FN double __longlong_as_double(long long);
HONE_P_FN int __double2hiint(double); HONE_P_FN int __double2loint(double); HONE_P_FN double __hiloint2double(int, int);
#define HONE_P_CVT(r, a, name) HONE_P_FN r name##_rn(a); HONE_P_FN r name##_rz(a); HONE_P_FN r name##_ru(a); HONE_P_FN r name##_rd(a);
HONE_P_CVT(int, float, __float2int) HONE_P_CVT(unsigned, float, __float2uint) HONE_P_CVT(long long, float, __float2ll)
HONE_P_CVT(unsigned long long, float, __float2ull) HONE_P_CVT(float, int, __int2float) HONE_P_CVT(float, unsigned, __uint2float)
HONE_P_CVT(float, long long, __ll2float) HONE_P_CVT(float, unsigned long long, __ull2float) HONE_P_CVT(int, double, __double2int)
HONE_P_CVT(unsigned, double, __double2uint) HONE_P_CVT(float, double, __double2float) HONE_P_CVT(long long, double, __double2ll)
HONE_P_FN double __int2double_rn(int); HONE_P_FN double __uint2double_rn(unsigned); HONE_P_CVT(double, long long, __ll2double)
HONE_P_FN void __trap(); HONE_P_FN void __brkpt(); HONE_P_FN void __nanosleep(unsigned); HONE_P_FN void __prof_trigger(int);
HONE_P_FN long long clock64(); HONE_P_FN int clock(); HONE_P_FN unsigned long long __globaltimer();
extern "C" __device__ void __syncthreads(); HONE_P_FN int __syncthreads_count(int); HONE_P_FN int __syncthreads_and(int); HONE_P_FN int __syncthreads_or(int);
HONE_P_FN void __syncwarp(unsigned mask = 0xffffffffu); HONE_P_FN void __threadfence(); HONE_P_FN void __threadfence_block();
HONE_P_FN void __threadfence_system(); HONE_P_FN unsigned __activemask(); HONE_P_FN unsigned __ballot_sync(unsigned, int);
HONE_P_FN int __all_sync(unsigned, int); HONE_P_FN int __any_sync(unsigned, int); HONE_P_FN int __uni_sync(unsigned, int);
HONE_P_FN unsigned __isShared(const void*); HONE_P_FN unsigned __isGlobal(const void*); HONE_P_FN size_t __cvta_generic_to_shared(const void*);
HONE_P_FN size_t __cvta_generic_to_global(const void*);
HONE_P_FN void* memcpy(void*, const void*, size_t); HONE_P_FN void* memset(void*, int, size_t); HONE_P_FN void* malloc(size_t);
HONE_P_FN void free(void*);
template <class... A> HONE_P_HD int printf(const char*, A...);
HONE_P_HD void __assume(bool);
HONE_P_FN unsigned __reduce_add_sync(unsigned, unsigned); HONE_P_FN unsigned __reduce_min_sync(unsigned, unsigned);
HONE_P_FN unsigned __reduce_max_sync(unsigned, unsigned); HONE_P_FN unsigned __reduce_and_sync(unsigned, unsigned);
HONE_P_FN unsigned __reduce_or_sync(unsigned, unsigned); HONE_P_FN unsigned __reduce_xor_sync(unsigned, unsigned);
HONE_P_HD int __reduce_add_sync(unsigned m, int v); HONE_P_HD int __reduce_min_sync(unsigned m, int v);
HONE_P_HD int __reduce_max_sync(unsigned m, int v);
#define HONE_P_SHFL(t) HONE_P_HD t __shfl_sync(unsigned, t v, int, int = 32); \
  HONE_P_HD t __shfl_up_sync(unsigned, t v, unsigned, int = 32); \
  HONE_P_HD t __shfl_down_sync(unsigned, t v, unsigned, int = 32); \
  HONE_P_HD t __shfl_xor_sync(unsigned, t v, int, int = 32);
#define HONE_P_MATCH(t) HONE_P_HD unsigned __match_any_sync(unsigned, t); \
  HONE_P_HD unsigned __match_all_sync(unsigned, t, int*);
#define HONE_P_EACH(F) F(int) F(unsigned) F(long) F(unsigned long) F(long long) F(unsigned long long) F(float) F(double)
HONE_P_EACH(HONE_P_SHFL) HONE_P_EACH(HONE_P_MATCH)
#define HONE_P_LD(t) HONE_P_HD t __ldg(const t* p); HONE_P_HD t __ldca(const t* p); \
  HONE_P_HD t __ldcg(const t* p); HONE_P_HD t __ldcs(const t* p); \
  HONE_P_HD t __ldlu(const t* p); HONE_P_HD t __ldcv(const t* p); \
  HONE_P_HD void __stwb(t* p, t v); HONE_P_HD void __stcg(t* p, t v); \
  HONE_P_HD void __stcs(t* p, t v); HONE_P_HD void __stwt(t* p, t v);
HONE_P_EACH(HONE_P_LD) HONE_P_LD(char) HONE_P_LD(signed char) HONE_P_LD(unsigned char) HONE_P_LD(short) HONE_P_LD(unsigned short)
HONE_P_LD(char2) HONE_P_LD(char4) HONE_P_LD(uchar2) HONE_P_LD(uchar4) HONE_P_LD(short2) HONE_P_LD(short4) HONE_P_LD(ushort2)
HONE_P_LD(ushort4) HONE_P_LD(int2) HONE_P_LD(int4) HONE_P_LD(uint2) HONE_P_LD(uint4) HONE_P_LD(longlong2) HONE_P_LD(ulonglong2)
HONE_P_LD(float2) HONE_P_LD(float4) HONE_P_LD(double2)
#define HONE_P_AT(name, t) HONE_P_HD t name(t* p, t v); HONE_P_HD t name##_block(t* p, t v); \
  HONE_P_HD t name##_system(t* p, t v);
#define HONE_P_ATI(name) HONE_P_AT(name, int) HONE_P_AT(name, unsigned) HONE_P_AT(name, unsigned long long)
HONE_P_ATI(atomicAdd) HONE_P_AT(atomicAdd, float) HONE_P_AT(atomicAdd, double) HONE_P_AT(atomicAdd, float2) HONE_P_AT(atomicAdd, float4)
HONE_P_AT(atomicSub, int) HONE_P_AT(atomicSub, unsigned) HONE_P_ATI(atomicMin) HONE_P_AT(atomicMin, long long) HONE_P_ATI(atomicMax)
HONE_P_AT(atomicMax, long long) HONE_P_ATI(atomicExch) HONE_P_AT(atomicExch, float) HONE_P_ATI(atomicAnd) HONE_P_ATI(atomicOr)
HONE_P_ATI(atomicXor) HONE_P_AT(atomicInc, unsigned) HONE_P_AT(atomicDec, unsigned)
#define HONE_P_CAS(t) HONE_P_HD t atomicCAS(t* p, t a, t b); HONE_P_HD t atomicCAS_block(t* p, t a, t b); \
  HONE_P_HD t atomicCAS_system(t* p, t a, t b);
HONE_P_CAS(int) HONE_P_CAS(unsigned) HONE_P_CAS(unsigned long long) HONE_P_CAS(unsigned short)
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define assert(x) ((void)(x))
)cuda"
                                      R"cuda(
#undef HONE_P_1
#undef HONE_P_2
#undef HONE_P_O1
#undef HONE_P_O2
#undef HONE_P_INT1
#undef HONE_P_MM
#undef HONE_P_MX
#undef HONE_P_RND
#undef HONE_P_DRND
#undef HONE_P_CVT
#undef HONE_P_MATCH
)cuda";

constexpr std::string_view kHalf = R"cuda(
#pragma once
#define HONE_P_HALF(H, raw, H2, L) \
struct __attribute__((aligned(2))) raw { unsigned short x; }; \
struct __attribute__((aligned(2))) H { unsigned short bits; H() = default; \
  __host__ __device__ H(float); __host__ __device__ H(double); \
  __host__ __device__ H(int); __host__ __device__ H(unsigned); \
  __host__ __device__ H(long); __host__ __device__ H(unsigned long); \
  __host__ __device__ H(long long); __host__ __device__ H(unsigned long long); \
  __host__ __device__ H(short); __host__ __device__ H(unsigned short); \
  __host__ __device__ operator float() const; explicit __host__ __device__ operator int() const; \
  explicit __host__ __device__ operator unsigned() const; explicit __host__ __device__ operator bool() const; \
  explicit __host__ __device__ operator short() const; explicit __host__ __device__ operator long long() const; }; \
struct __attribute__((aligned(4))) H2 { H x, y; H2() = default; __host__ __device__ H2(H a, H b); }; \
HONE_P_BIN(H, +) HONE_P_BIN(H, -) HONE_P_BIN(H, *) HONE_P_BIN(H, /) HONE_P_BIN(H2, +) HONE_P_BIN(H2, -) HONE_P_BIN(H2, *) \
HONE_P_BIN(H2, /) HONE_P_CMP(H, <) HONE_P_CMP(H, >) HONE_P_CMP(H, <=) HONE_P_CMP(H, >=) HONE_P_CMP(H, ==) HONE_P_CMP(H, !=) \
HONE_P_CMP(H2, <) HONE_P_CMP(H2, >) HONE_P_CMP(H2, <=) HONE_P_CMP(H2, >=) HONE_P_CMP(H2, ==) HONE_P_CMP(H2, !=) \
HONE_P_HD H operator-(H a); HONE_P_HD H operator+(H a); HONE_P_HD H2 operator-(H2 a); \
HONE_P_HD H& operator++(H& a); HONE_P_HD H& operator--(H& a); \
HONE_P_HD H __float2##L(float); HONE_P_HD H __float2##L##_rn(float); \
HONE_P_HD H __float2##L##_rz(float); HONE_P_HD H __float2##L##_rd(float); \
HONE_P_HD H __float2##L##_ru(float); HONE_P_HD H __double2##L(double); \
HONE_P_HD float __##L##2float(H); HONE_P_HD int __##L##2int_rn(H); HONE_P_HD int __##L##2int_rz(H); \
HONE_P_HD int __##L##2int_ru(H); HONE_P_HD int __##L##2int_rd(H); HONE_P_HD unsigned __##L##2uint_rn(H); \
HONE_P_HD H __int2##L##_rn(int); HONE_P_HD H __int2##L##_rz(int); HONE_P_HD H __uint2##L##_rn(unsigned); \
HONE_P_HD H __ushort_as_##L(unsigned short); HONE_P_HD H __short_as_##L(short); \
HONE_P_HD unsigned short __##L##_as_ushort(H); HONE_P_HD short __##L##_as_short(H); \
HONE_P_HD H2 make_##L##2(H a, H b); HONE_P_HD H2 __##L##2##L##2(H a); \
HONE_P_HD H2 __float2##L##2_rn(float); \
HONE_P_HD H2 __floats2##L##2_rn(float, float); HONE_P_HD H2 __float22##L##2_rn(float2); \
HONE_P_HD float2 __##L##22float2(H2); HONE_P_HD float __low2float(H2); HONE_P_HD float __high2float(H2); \
HONE_P_HD H __low2##L(H2 a); HONE_P_HD H __high2##L(H2 a); HONE_P_HD H2 __low2##L##2(H2 a); \
HONE_P_HD H2 __high2##L##2(H2 a); HONE_P_HD H2 __lowhigh2highlow(H2 a); \
HONE_P_HD H2 __lows2##L##2(H2 a, H2); HONE_P_HD H2 __highs2##L##2(H2 a, H2); \
HONE_P_H2(H, __hadd) HONE_P_H2(H, __hsub) HONE_P_H2(H, __hmul) HONE_P_H2(H, __hdiv) HONE_P_H2(H, __hmin) HONE_P_H2(H, __hmax) \
HONE_P_H2(H, __hmin_nan) HONE_P_H2(H, __hmax_nan) HONE_P_H2(H, __hadd_sat) HONE_P_H2(H, __hmul_sat) HONE_P_H2(H, __hadd_rn) \
HONE_P_H2(H, __hmul_rn) HONE_P_H2(H, __hsub_rn) HONE_P_H2(H2, __hadd2) HONE_P_H2(H2, __hsub2) HONE_P_H2(H2, __hmul2) HONE_P_H2(H2, __h2div) \
HONE_P_H2(H2, __hmin2) HONE_P_H2(H2, __hmax2) HONE_P_H2(H2, __hadd2_rn) HONE_P_H2(H2, __hmul2_rn) \
HONE_P_HD H __hfma(H a, H, H); HONE_P_HD H __hfma_relu(H a, H, H); HONE_P_HD H2 __hfma2(H2 a, H2, H2); \
HONE_P_H1(H, __hneg) HONE_P_H1(H, __habs) HONE_P_H1(H2, __hneg2) HONE_P_H1(H2, __habs2) HONE_P_H1(H, hexp) HONE_P_H1(H, hexp2) HONE_P_H1(H, hlog) \
HONE_P_H1(H, hexp10) HONE_P_H1(H, hlog2) HONE_P_H1(H, hlog10) HONE_P_H1(H, hsqrt) HONE_P_H1(H, hrsqrt) HONE_P_H1(H, hrcp) HONE_P_H1(H, hsin) HONE_P_H1(H, hcos) \
HONE_P_H1(H, htanh) HONE_P_H1(H, hfloor) HONE_P_H1(H, hceil) HONE_P_H1(H, hrint) HONE_P_H1(H, htrunc) HONE_P_H1(H2, h2exp) HONE_P_H1(H2, h2exp2) HONE_P_H1(H2, h2log) \
HONE_P_H1(H2, h2sqrt) HONE_P_H1(H2, h2rsqrt) HONE_P_H1(H2, h2rcp) HONE_P_H1(H2, h2tanh) \
HONE_P_HB(H, __heq) HONE_P_HB(H, __hne) HONE_P_HB(H, __hle) HONE_P_HB(H, __hge) HONE_P_HB(H, __hlt) HONE_P_HB(H, __hgt) \
HONE_P_HB(H2, __hbeq2) HONE_P_HB(H2, __hblt2) HONE_P_HB(H2, __hbgt2) HONE_P_HD bool __hisnan(H); HONE_P_HD int __hisinf(H); \
HONE_P_SHFL(H) HONE_P_SHFL(H2) HONE_P_LD(H) HONE_P_LD(H2) HONE_P_AT(atomicAdd, H) HONE_P_AT(atomicAdd, H2)
#define HONE_P_BIN(T, op) HONE_P_HD T operator op(T a, T b); HONE_P_HD T& operator op##=(T& a, T b);
#define HONE_P_CMP(T, op) HONE_P_HD bool operator op(T a, T b);
#define HONE_P_H2(T, name) HONE_P_HD T name(T a, T);
#define HONE_P_H1(T, name) HONE_P_HD T name(T a);
#define HONE_P_HB(T, name) HONE_P_HD bool name(T, T);
)cuda";

constexpr std::string_view kFp16 = R"cuda(
#pragma once
#include <hone_half_macros.h>
HONE_P_HALF(__half, __half_raw, __half2, half)
typedef __half half;
typedef __half2 half2;
HONE_P_HD __half2 __halves2half2(__half a, __half b);
)cuda";

constexpr std::string_view kBf16 = R"cuda(
#pragma once
#include <hone_half_macros.h>
HONE_P_HALF(__nv_bfloat16, __nv_bfloat16_raw, __nv_bfloat162, bfloat16)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
HONE_P_HD __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b);
)cuda";

// Conversions are explicit, as CUDA has them, and there is no arithmetic.
constexpr std::string_view kFp8 = R"cuda(
#pragma once
#include <cuda_fp16.h>
#include <cuda_bf16.h>
typedef unsigned char __nv_fp8_storage_t; typedef unsigned short __nv_fp8x2_storage_t; typedef unsigned __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;
#define HONE_P_X explicit __host__ __device__
#define HONE_P_FP8(T) \
struct T { __nv_fp8_storage_t __x; T() = default; \
  HONE_P_X T(float); HONE_P_X T(double); HONE_P_X T(__half); \
  HONE_P_X T(__nv_bfloat16); HONE_P_X T(int); HONE_P_X T(unsigned); \
  HONE_P_X T(long); HONE_P_X T(unsigned long); HONE_P_X T(long long); \
  HONE_P_X T(unsigned long long); HONE_P_X T(short); HONE_P_X T(unsigned short); \
  HONE_P_X operator float() const; HONE_P_X operator double() const; \
  HONE_P_X operator __half() const; HONE_P_X operator __nv_bfloat16() const; \
  HONE_P_X operator bool() const; HONE_P_X operator int() const; \
  HONE_P_X operator unsigned() const; HONE_P_X operator char() const; \
  HONE_P_X operator short() const; HONE_P_X operator long long() const; };
HONE_P_FP8(__nv_fp8_e4m3)
HONE_P_FP8(__nv_fp8_e5m2)
#define HONE_P_FP8_PAIR(T, storage, floats) \
struct T { storage __x; T() = default; HONE_P_X T(floats); HONE_P_X operator floats() const; };
HONE_P_FP8_PAIR(__nv_fp8x2_e4m3, __nv_fp8x2_storage_t, float2)
HONE_P_FP8_PAIR(__nv_fp8x2_e5m2, __nv_fp8x2_storage_t, float2)
HONE_P_FP8_PAIR(__nv_fp8x4_e4m3, __nv_fp8x4_storage_t, float4)
HONE_P_FP8_PAIR(__nv_fp8x4_e5m2, __nv_fp8x4_storage_t, float4)
HONE_P_HD __nv_fp8_storage_t __nv_cvt_float_to_fp8(float, __nv_saturation_t, __nv_fp8_interpretation_t);
HONE_P_HD __nv_fp8_storage_t __nv_cvt_double_to_fp8(double, __nv_saturation_t, __nv_fp8_interpretation_t);
HONE_P_HD __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw, __nv_saturation_t, __nv_fp8_interpretation_t);
HONE_P_HD __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2, __nv_saturation_t, __nv_fp8_interpretation_t);
HONE_P_HD __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t, __nv_fp8_interpretation_t);
)cuda";

constexpr std::string_view kMma = R"cuda(
#pragma once
#include <cuda_fp16.h>
#include <cuda_bf16.h>
namespace nvcuda { namespace wmma {
struct matrix_a {}; struct matrix_b {}; struct accumulator {}; struct row_major {}; struct col_major {};
namespace precision { struct tf32 {}; struct u4 {}; struct s4 {}; struct b1 {}; }
enum layout_t { mem_row_major, mem_col_major };
template <class T> struct hone_storage { typedef T type; };
template <> struct hone_storage<precision::tf32> { typedef float type; };
template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
  enum { num_elements = 8, num_storage_elements = 8 };
  typename hone_storage<T>::type x[8]; };
template <class F, class T> __host__ __device__ void load_matrix_sync(F& f, const T* p, unsigned ld);
template <class F, class T> __host__ __device__ void load_matrix_sync(F& f, const T* p, unsigned ld, layout_t);
template <class F, class T> __host__ __device__ void store_matrix_sync(T* p, const F& f, unsigned ld, layout_t);
template <class F, class T> __host__ __device__ void fill_fragment(F& f, const T& v);
template <class D, class A, class B, class C> __host__ __device__ void mma_sync(D& d, const A& a, const B& b, const C& c, bool = false);
__host__ __device__ float __float_to_tf32(float);
} }
)cuda";

constexpr std::string_view kCooperativeGroups = R"cuda(
#pragma once
namespace cooperative_groups {
#define HONE_P_GROUP void sync() const; unsigned thread_rank() const; unsigned size() const; unsigned num_threads() const;
#define HONE_P_WARP \
  template <class T> __host__ __device__ T shfl(T v, int) const; template <class T> __host__ __device__ T shfl_down(T v, unsigned) const; \
  template <class T> __host__ __device__ T shfl_up(T v, unsigned) const; template <class T> __host__ __device__ T shfl_xor(T v, unsigned) const; \
  __host__ __device__ int any(int) const; __host__ __device__ int all(int) const; __host__ __device__ unsigned ballot(int) const; \
  __host__ __device__ unsigned meta_group_rank() const; __host__ __device__ unsigned meta_group_size() const;
#define HONE_P_SYNC __host__ __device__ void sync() const; __host__ __device__ unsigned thread_rank() const; \
  __host__ __device__ unsigned size() const; __host__ __device__ unsigned num_threads() const;
struct thread_group { HONE_P_SYNC };
struct thread_block { HONE_P_SYNC static __host__ __device__ dim3 group_index(); static __host__ __device__ dim3 thread_index();
  static __host__ __device__ dim3 group_dim(); static __host__ __device__ dim3 dim_threads(); };
struct grid_group { HONE_P_SYNC __host__ __device__ bool is_valid() const; __host__ __device__ dim3 group_dim() const; };
struct coalesced_group { HONE_P_SYNC HONE_P_WARP };
template <unsigned N, class P = void> struct thread_block_tile { HONE_P_SYNC HONE_P_WARP
  thread_block_tile() = default; template <class Q> __host__ __device__ thread_block_tile(const thread_block_tile<N, Q>&) {} };
__host__ __device__ thread_block this_thread_block();
__host__ __device__ grid_group this_grid();
__host__ __device__ coalesced_group coalesced_threads();
template <unsigned N, class P> __host__ __device__ thread_block_tile<N, P> tiled_partition(const P&);
template <class G> __host__ __device__ void sync(const G&);
template <class T> struct plus { __host__ __device__ T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { __host__ __device__ T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { __host__ __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { __host__ __device__ T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { __host__ __device__ T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { __host__ __device__ T operator()(T a, T b) const { return a ^ b; } };
template <class G, class T, class F> __host__ __device__ T reduce(const G&, T v, F);
template <class G, class T, class F> __host__ __device__ T inclusive_scan(const G&, T v, F);
template <class G, class T, class F> __host__ __device__ T exclusive_scan(const G&, T v, F);
template <class G, class T> __host__ __device__ void memcpy_async(const G&, T*, const T*, size_t);
template <class G> __host__ __device__ void wait(const G&);
}
)cuda";

constexpr std::string_view kStdint = R"cuda(
#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t; typedef __UINTPTR_TYPE__ uintptr_t;
typedef int int_fast32_t; typedef unsigned int uint_fast32_t;
namespace std { using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t; using ::int32_t; using ::uint32_t;
using ::int64_t; using ::uint64_t; using ::intptr_t; using ::uintptr_t; }
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MAX 32767
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
)cuda";

constexpr std::string_view kLimits = R"cuda(
#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807l
#define ULONG_MAX 18446744073709551615ul
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
)cuda";

constexpr std::string_view kFloat = R"cuda(
#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-016
)cuda";

constexpr std::string_view kMath = R"cuda(
#pragma once
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
)cuda";

constexpr std::string_view kMathConstants = R"cuda(
#pragma once
#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_INF __builtin_inf()
#define CUDART_NAN __builtin_nan("")
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_SQRT_HALF_F 0.707106781f
#define CUDART_L2E_F 1.442695041f
#define CUDART_LN2_F 0.693147181f
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f
#define CUDART_MAX_NORMAL_F 3.402823466e+38f
)cuda";

constexpr std::string_view kStdLimits = R"cuda(
#pragma once
namespace std {
template <class T> struct numeric_limits;
#define HONE_P_LIMITS(t, lo, hi, low) template <> struct numeric_limits<t> { \
  static __host__ __device__ constexpr t min() { return lo; } static __host__ __device__ constexpr t max() { return hi; } \
  static __host__ __device__ constexpr t lowest() { return low; } static __host__ __device__ constexpr t infinity() { return hi; } \
  static __host__ __device__ constexpr t epsilon() { return 0; } static __host__ __device__ constexpr t quiet_NaN() { return 0; } };
HONE_P_LIMITS(float, 1.175494351e-38f, 3.402823466e+38f, -3.402823466e+38f)
HONE_P_LIMITS(double, 2.2250738585072014e-308, 1.7976931348623158e+308, -1.7976931348623158e+308)
HONE_P_LIMITS(int, -2147483647 - 1, 2147483647, -2147483647 - 1) HONE_P_LIMITS(unsigned, 0, 4294967295u, 0)
HONE_P_LIMITS(long long, -9223372036854775807ll - 1, 9223372036854775807ll, -9223372036854775807ll - 1)
HONE_P_LIMITS(unsigned long long, 0, 18446744073709551615ull, 0)
}
)cuda";

constexpr std::string_view kTypeTraits = R"cuda(
#pragma once
namespace std {
template <class T, T v> struct integral_constant { static constexpr T value = v; constexpr __host__ __device__ operator T() const { return v; } };
typedef integral_constant<bool, true> true_type; typedef integral_constant<bool, false> false_type;
template <class A, class B> struct is_same : false_type {}; template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <bool B, class T = void> struct enable_if {}; template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <class T> struct remove_reference { typedef T type; }; template <class T> struct remove_reference<T&> { typedef T type; };
template <class T> struct remove_const { typedef T type; }; template <class T> struct remove_const<const T> { typedef T type; };
}
)cuda";

constexpr std::string_view kUtility = R"cuda(
#pragma once
#include <type_traits>
namespace std {
template <class T> constexpr __host__ __device__ typename remove_reference<T>::type&& move(T&& v) { return static_cast<typename remove_reference<T>::type&&>(v); }
template <class A, class B> struct pair { A first; B second; };
}
)cuda";

constexpr std::string_view kCudaStd = R"cuda(
#pragma once
#include <limits>
#include <cstdint>
#include <type_traits>
#include <utility>
namespace cuda { namespace std { using namespace ::std; } }
)cuda";

constexpr std::string_view kCuda = R"cuda(
#pragma once
struct alignas(128) CUtensorMap_st {
  unsigned long long opaque[16];
};
typedef struct CUtensorMap_st CUtensorMap;
)cuda";

constexpr std::string_view kEmpty = "#pragma once\n";

}  // namespace

std::string_view prelude_text() { return kPrelude; }

const std::vector<VirtualFile>& virtual_headers() {
  static const std::vector<VirtualFile> files = {
      {"hone_half_macros.h", kHalf},
      {"cuda_fp16.h", kFp16},
      {"cuda_bf16.h", kBf16},
      {"cuda_fp8.h", kFp8},
      {"mma.h", kMma},
      {"cooperative_groups.h", kCooperativeGroups},
      {"cooperative_groups/reduce.h", "#pragma once\n#include <cooperative_groups.h>\n"},
      {"cooperative_groups/scan.h", "#pragma once\n#include <cooperative_groups.h>\n"},
      {"cooperative_groups/memcpy_async.h", "#pragma once\n#include <cooperative_groups.h>\n"},
      {"cuda_runtime.h", kEmpty},
      {"cuda_runtime_api.h", kEmpty},
      {"cuda.h", kCuda},
      {"cudaTypedefs.h", kCuda},
      {"device_launch_parameters.h", kEmpty},
      {"device_functions.h", kEmpty},
      {"device_atomic_functions.h", kEmpty},
      {"sm_30_intrinsics.h", kEmpty},
      {"vector_types.h", kEmpty},
      {"vector_functions.h", kEmpty},
      {"math_constants.h", kMathConstants},
      {"math.h", kMath},
      {"cmath", kMath},
      {"stdint.h", kStdint},
      {"cstdint", kStdint},
      {"inttypes.h", kStdint},
      {"cinttypes", kStdint},
      {"stddef.h", kEmpty},
      {"cstddef", kEmpty},
      {"stdio.h", kEmpty},
      {"cstdio", kEmpty},
      {"stdlib.h", kEmpty},
      {"cstdlib", kEmpty},
      {"string.h", kEmpty},
      {"cstring", kEmpty},
      {"float.h", kFloat},
      {"cfloat", kFloat},
      {"limits.h", kLimits},
      {"climits", kLimits},
      {"limits", kStdLimits},
      {"assert.h", kEmpty},
      {"cassert", kEmpty},
      {"algorithm", kEmpty},
      {"type_traits", kTypeTraits},
      {"utility", kUtility},
      {"cuda/std/cstdint", kStdint},
      {"cuda/std/cmath",
       "#pragma once\n#include <cmath>\nnamespace cuda { namespace std { using namespace ::std; } "
       "}\n"},
      {"cuda/std/limits", kCudaStd},
      {"cuda/std/type_traits", kCudaStd},
      {"cuda/std/utility", kCudaStd},
      {"cuda/std/cstddef", kEmpty},
      {"cuda/std/climits", kLimits},
      {"cuda/std/cassert", kEmpty},
  };
  return files;
}

}  // namespace hone::syntax
