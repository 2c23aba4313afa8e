// The microbenchmarks of `hone calibrate`. Embedded into the library, compiled by NVRTC.
// Every kernel has the same parameters: a small result buffer, two large ones, three numbers whose
// meaning its comment gives. Inline PTX where the compiler would fold or drop the loop. Clocks are
// read outside loops: a branch is what no instruction is moved across.

using u32 = unsigned;
using u64 = unsigned long long;

#define ARGUMENTS u64 *out, char *a, char *b, u64 n, u64 m, u64 k
#define BENCH extern "C" __global__ void __launch_bounds__(1024)
#define BENCH_256 extern "C" __global__ void __launch_bounds__(256)  // more registers
#define THREAD (u64(blockIdx.x) * blockDim.x + threadIdx.x)
#define THREADS (u64(gridDim.x) * blockDim.x)

__device__ inline u64 cycles() {
  u64 t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}
__device__ inline u64 nanoseconds() {
  u64 t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}

/// out[0]: cycles from the first thread's begin to the last one's end.
__device__ inline void block_span(u64* out, u64 begin, u64 end) {
  __shared__ u64 first, last;
  if (threadIdx.x == 0) {
    first = ~0ULL;
    last = 0;
  }
  __syncthreads();
  atomicMin(&first, begin);
  atomicMax(&last, end);
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = last - first;
}

/// Makes the compiler believe that a value is needed.
__device__ inline void keep(u64* out, u32 value, u64 never) {
  if (value == 0x9E3779B9u && never == ~0ULL) out[63] = value;
}

// ---- launches ----------------------------------------------------------------------------------

BENCH empty(ARGUMENTS) {}

/// Holds the stream for n nanoseconds, so that what comes behind it is queued before it starts.
BENCH hold(ARGUMENTS) {
  const u64 begin = nanoseconds();
  while (nanoseconds() - begin < n) {
  }
}

// ---- arithmetic: a dependent chain in one warp, and eight chains in every thread of a block -------

struct Fp32 {
  using T = float;
  // What a scheduler can issue in every cycle loses 3 % to fetching instructions in a short loop.
  static constexpr int kBody = 128;
  static __device__ T make(u64 v) { return float(v); }
  static __device__ void op(T& x, T y, T z) {
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(y), "f"(z));
  }
  static __device__ u32 bits(T x) { return __float_as_uint(x); }
};
struct Fp64 {
  using T = double;
  static constexpr int kBody = 32;
  static __device__ T make(u64 v) { return double(v); }
  static __device__ void op(T& x, T y, T z) {
    asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(x) : "d"(y), "d"(z));
  }
  static __device__ u32 bits(T x) { return u32(__double_as_longlong(x)); }
};
struct Word {
  using T = u32;
  static constexpr int kBody = 32;
  static __device__ T make(u64 v) { return u32(v) + 3; }
  static __device__ u32 bits(T x) { return x; }
};
struct Fp16 : Word {
  static constexpr int kBody = 128;
  static __device__ void op(T& x, T y, T z) {
    asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(z));
  }
};
struct Multiply : Word {
  static __device__ void op(T& x, T y, T z) {
    asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(z));
  }
};
struct Logic : Word {  // two instructions: an add and a logic operation cannot be folded
  static __device__ void op(T& x, T y, T z) {
    asm volatile("add.u32 %0, %0, %1; xor.b32 %0, %0, %2;" : "+r"(x) : "r"(y), "r"(z));
  }
};
struct Popc : Word {
  static __device__ void op(T& x, T, T) { asm volatile("popc.b32 %0, %0;" : "+r"(x)); }
};
struct Shuffle : Word {
  static __device__ void op(T& x, T, T) {
    asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;" : "+r"(x));
  }
};
struct Ex2 : Fp32 {
  static __device__ void op(T& x, T, T) { asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)); }
};
struct Rsqrt : Fp32 {
  static __device__ void op(T& x, T, T) { asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x)); }
};
struct Convert : Fp32 {  // two instructions
  static __device__ void op(T& x, T, T) {
    asm volatile("{ .reg .s32 t; cvt.rzi.s32.f32 t, %0; cvt.rn.f32.s32 %0, t; }" : "+f"(x));
  }
};

/// mma.sync: the accumulators are the chain, A and B stay.
struct Fragments {
  u32 c[4], a[4], b[2];
};
template <int kType>  // 0 f16, 1 bf16, 2 tf32, 3 s8
struct Mma {
  using T = Fragments;
  static constexpr int kBody = 32;
  static __device__ T make(u64 v) {
    T t;
    for (int i = 0; i < 4; ++i) t.c[i] = 0;
    for (int i = 0; i < 4; ++i) t.a[i] = u32(v) & 1;
    for (int i = 0; i < 2; ++i) t.b[i] = u32(v) & 2;
    return t;
  }
  static __device__ u32 bits(const T& x) { return x.c[0] ^ x.c[1] ^ x.c[2] ^ x.c[3]; }
#define OPERANDS                                                            \
  : "+r"(x.c[0]), "+r"(x.c[1]), "+r"(x.c[2]), "+r"(x.c[3])                  \
  : "r"(y.a[0]), "r"(y.a[1]), "r"(y.a[2]), "r"(y.a[3]), "r"(y.b[0]), "r"(y.b[1])
#define REGISTERS "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
#define F32_REGISTERS                                                                     \
  "{ .reg .f32 c<4>; mov.b32 c0, %0; mov.b32 c1, %1; mov.b32 c2, %2; mov.b32 c3, %3; "
#define F32_TAIL                                                                                 \
  " {c0,c1,c2,c3}, {%4,%5,%6,%7}, {%8,%9}, {c0,c1,c2,c3}; mov.b32 %0, c0; mov.b32 %1, c1; " \
  "mov.b32 %2, c2; mov.b32 %3, c3; }"
  static __device__ void op(T& x, const T& y, const T&) {
    if constexpr (kType == 0)
      asm volatile(F32_REGISTERS "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" F32_TAIL OPERANDS);
    if constexpr (kType == 1)
      asm volatile(
          F32_REGISTERS "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" F32_TAIL OPERANDS);
    if constexpr (kType == 2)
      asm volatile(
          F32_REGISTERS "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" F32_TAIL OPERANDS);
    if constexpr (kType == 3)
      asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " REGISTERS OPERANDS);
  }
};

/// n rounds of 1024 dependent operations; m, k: operands. out[0]: cycles.
template <class Op>
__device__ inline void latency(ARGUMENTS) {
  typename Op::T x = Op::make(threadIdx.x), y = Op::make(m), z = Op::make(k);
  const u64 begin = cycles();
  for (u64 i = 0; i < 4 * n; ++i) {
#pragma unroll
    for (int j = 0; j < 256; ++j) Op::op(x, y, z);
  }
  const u64 end = cycles();
  if (threadIdx.x == 0) out[0] = end - begin;
  keep(out, Op::bits(x), n);
}

/// n rounds of 128 x 8 operations in every thread. out[0]: cycles of the block.
template <class Op>
__device__ inline void rate(ARGUMENTS) {
  typename Op::T x[8], y = Op::make(m), z = Op::make(k);
#pragma unroll
  for (int c = 0; c < 8; ++c) x[c] = Op::make(threadIdx.x + c);
  __syncthreads();
  const u64 begin = cycles();
  for (u64 i = 0; i < n * (128 / Op::kBody); ++i) {
#pragma unroll
    for (int j = 0; j < Op::kBody; ++j) {
#pragma unroll
      for (int c = 0; c < 8; ++c) Op::op(x[c], y, z);
    }
  }
  const u64 end = cycles();
  u32 all = 0;
#pragma unroll
  for (int c = 0; c < 8; ++c) all ^= Op::bits(x[c]);
  keep(out, all, n);
  block_span(out, begin, end);
}

// HONE_CEILINGS: only what a device's ceilings need, which is compiled before somebody's first search.
#define RATE(name, ...) \
  BENCH rate_##name(ARGUMENTS) { rate<__VA_ARGS__>(out, a, b, n, m, k); }
#ifdef HONE_CEILINGS
#define LATENCY(name, ...)
#else
#define LATENCY(name, ...) \
  BENCH latency_##name(ARGUMENTS) { latency<__VA_ARGS__>(out, a, b, n, m, k); }
#endif
#define ARITHMETIC(name, ...) \
  LATENCY(name, __VA_ARGS__)  \
  RATE(name, __VA_ARGS__)
ARITHMETIC(fp32, Fp32)
ARITHMETIC(fp64, Fp64)
ARITHMETIC(mma_f16, Mma<0>)
ARITHMETIC(mma_tf32, Mma<2>)
ARITHMETIC(mma_s8, Mma<3>)
#ifndef HONE_CEILINGS
ARITHMETIC(fp16, Fp16)
ARITHMETIC(multiply, Multiply)
ARITHMETIC(logic, Logic)
ARITHMETIC(popc, Popc)
ARITHMETIC(shuffle, Shuffle)
ARITHMETIC(ex2, Ex2)
ARITHMETIC(rsqrt, Rsqrt)
ARITHMETIC(convert, Convert)
ARITHMETIC(mma_bf16, Mma<1>)
#endif

// ---- wgmma: two warpgroups, 64 x 128 x 32 B each, A and B in shared memory --------------------------

#define WGMMA_REGISTERS \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define WGMMA_EIGHT(kind, i)                                                           \
  "+" kind(c[i]), "+" kind(c[i + 1]), "+" kind(c[i + 2]), "+" kind(c[i + 3]),          \
      "+" kind(c[i + 4]), "+" kind(c[i + 5]), "+" kind(c[i + 6]), "+" kind(c[i + 7])
#define WGMMA(text, kind, scales)                                                      \
  asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned." text \
               " {" WGMMA_REGISTERS "}, %64, %65, p" scales "; }"                      \
               : WGMMA_EIGHT(kind, 0), WGMMA_EIGHT(kind, 8), WGMMA_EIGHT(kind, 16),    \
                 WGMMA_EIGHT(kind, 24), WGMMA_EIGHT(kind, 32), WGMMA_EIGHT(kind, 40),  \
                 WGMMA_EIGHT(kind, 48), WGMMA_EIGHT(kind, 56)                          \
               : "l"(a_tile), "l"(b_tile))

/// n rounds of 16; out[0]: cycles of the block. 0 f16, 1 tf32, 2 s8. Only sm_90a has it.
template <int kType, class T>
__device__ inline void wgmma_rate(ARGUMENTS) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ alignas(1024) u64 tiles[768];  // A: 64 rows of 32 B, B: 128
  for (u32 i = threadIdx.x; i < 768; i += blockDim.x) tiles[i] = 0;
  // Matrix descriptors: no swizzle, core matrices of 8 x 16 B, 128 B apart along K, 256 B along M, N.
  const u64 layout = u64(128 >> 4) << 16 | u64(256 >> 4) << 32;
  const u64 a_tile = layout | (__cvta_generic_to_shared(tiles) >> 4);
  const u64 b_tile = layout | (__cvta_generic_to_shared(tiles + 256) >> 4);
  T c[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) c[i] = T(0);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const u64 begin = cycles();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (u64 i = 0; i < n; ++i) {
#pragma unroll 4  // all of them take ptxas a second
    for (int j = 0; j < 16; ++j) {
      if constexpr (kType == 0) WGMMA("m64n128k16.f32.f16.f16", "f", ", 1, 1, 0, 0");
      if constexpr (kType == 1) WGMMA("m64n128k8.f32.tf32.tf32", "f", ", 1, 1");
      if constexpr (kType == 2) WGMMA("m64n128k32.s32.s8.s8", "r", "");
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  const u64 end = cycles();
  T all = T(0);
#pragma unroll
  for (int i = 0; i < 64; ++i) all += c[i];
  keep(out, u32(all), n);
  block_span(out, begin, end);
#endif
}
BENCH_256 wgmma_f16(ARGUMENTS) {
  wgmma_rate<0, float>(out, a, b, n, m, k);
}
BENCH_256 wgmma_tf32(ARGUMENTS) {
  wgmma_rate<1, float>(out, a, b, n, m, k);
}
BENCH_256 wgmma_s8(ARGUMENTS) {
  wgmma_rate<2, int>(out, a, b, n, m, k);
}

/// The SM clock while every SM works: n rounds as rate_fp32. out[0]: cycles, out[1]: nanoseconds.
BENCH clock_under_load(ARGUMENTS) {
  float x[8], y = float(m), z = float(k);
#pragma unroll
  for (int c = 0; c < 8; ++c) x[c] = float(threadIdx.x + c);
  const u64 begin_ns = nanoseconds(), begin = cycles();
  for (u64 i = 0; i < n; ++i) {
#pragma unroll
    for (int j = 0; j < 32; ++j) {
#pragma unroll
      for (int c = 0; c < 8; ++c) Fp32::op(x[c], y, z);
    }
  }
  const u64 end = cycles(), end_ns = nanoseconds();
  u32 all = 0;
#pragma unroll
  for (int c = 0; c < 8; ++c) all ^= Fp32::bits(x[c]);
  keep(out, all, n);
  if (THREAD == 0) {
    out[0] = end - begin;
    out[1] = end_ns - begin_ns;
  }
}

#ifndef HONE_CEILINGS
/// n rounds of 16 barriers. out[0]: cycles of the block.
BENCH barriers(ARGUMENTS) {
  __syncthreads();
  const u64 begin = cycles();
  for (u64 i = 0; i < n; ++i) {
#pragma unroll
    for (int j = 0; j < 16; ++j) asm volatile("bar.sync 0;" ::: "memory");
  }
  const u64 end = cycles();
  block_span(out, begin, end);
}

// ---- latency of loads: pointers that form one cycle in an order no prefetcher follows --------------

/// n (a power of two) pointers, m bytes apart, from a.
BENCH chase_make(ARGUMENTS) {
  for (u64 i = THREAD; i < n; i += THREADS) {
    const u64 next = (i * 1664525 + 1013904223) & (n - 1);
    *reinterpret_cast<u64*>(a + i * m) = reinterpret_cast<u64>(a + next * m);
  }
}

#define CHASE(name, load)                                                            \
  /* k loads first, then n rounds of 16. out[0]: cycles. */                          \
  BENCH name(ARGUMENTS) {                                                            \
    u64 at = reinterpret_cast<u64>(a);                                               \
    for (u64 i = 0; i < k; ++i) asm volatile(load " %0, [%0];" : "+l"(at)::"memory"); \
    const u64 begin = cycles();                                                      \
    for (u64 i = 0; i < n; ++i) {                                                    \
      _Pragma("unroll") for (int j = 0; j < 16; ++j)                                 \
          asm volatile(load " %0, [%0];" : "+l"(at)::"memory");                      \
    }                                                                                \
    keep(out, u32(at), m);                                                           \
    const u64 end = cycles();                                                        \
    out[0] = end - begin;                                                            \
    out[1] = at;                                                                     \
  }
CHASE(chase_l1, "ld.global.ca.u64")
CHASE(chase_l2, "ld.global.cg.u64")

/// n rounds of 16 dependent loads from shared memory. out[0]: cycles.
BENCH chase_shared(ARGUMENTS) {
  __shared__ u32 ring[256];
  const u32 base = u32(__cvta_generic_to_shared(ring));
  if (threadIdx.x == 0)
    for (u32 i = 0; i < 256; ++i) ring[i] = base + ((i * 5 + 3) & 255) * 4;
  __syncthreads();
  u32 at = base;
  const u64 begin = cycles();
  for (u64 i = 0; i < n; ++i) {
#pragma unroll
    for (int j = 0; j < 16; ++j) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
  }
  keep(out, at, m);
  const u64 end = cycles();
  if (threadIdx.x == 0) {
    out[0] = end - begin;
    out[1] = at - base;
  }
}

#endif

// ---- bandwidth ---------------------------------------------------------------------------------

struct Vector {
  u32 x, y, z, w;
};
enum Path { kCached, kL2, kShared };
template <int kPath>
__device__ inline Vector load(u64 address) {
  Vector v;
#define LOAD(text)                                            \
  asm volatile(text " {%0,%1,%2,%3}, [%4];"                   \
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) \
               : "l"(address)                                 \
               : "memory")
  if constexpr (kPath == kCached) LOAD("ld.global.ca.v4.u32");
  if constexpr (kPath == kL2) LOAD("ld.global.cg.v4.u32");
  if constexpr (kPath == kShared)
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(u32(address))
                 : "memory");
  return v;
}
__device__ inline u32 mix(const Vector& v) { return v.x ^ v.y ^ v.z ^ v.w; }

#ifndef HONE_CEILINGS
/// One block, n rounds of 8 loads of 16 B a thread, round and round in m bytes (a power of two).
/// out[0]: cycles of the block.
template <int kPath>
__device__ inline void read_block(ARGUMENTS) {
  extern __shared__ u64 dynamic[];
  const u64 base = kPath == kShared ? __cvta_generic_to_shared(dynamic) : reinterpret_cast<u64>(a);
  if (kPath == kShared) {
    for (u64 i = threadIdx.x; i < m / 8; i += blockDim.x) dynamic[i] = i;
  }
  const u64 step = blockDim.x * 16;
  u64 at = threadIdx.x * 16;
  u32 all = 0;
  for (u64 i = 0; kPath != kShared && i < m / step; ++i) all ^= mix(load<kPath>(base + at + i * step));
  __syncthreads();
  const u64 begin = cycles();
  for (u64 i = 0; i < n; ++i) {
    Vector v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = load<kPath>(base + ((at + j * step) & (m - 1)));
#pragma unroll
    for (int j = 0; j < 8; ++j) all ^= mix(v[j]);
    at += 8 * step;
  }
  const u64 end = cycles();
  keep(out, all, n);
  block_span(out, begin, end);
}
BENCH read_block_l1(ARGUMENTS) { read_block<kCached>(out, a, b, n, m, k); }
BENCH read_block_l2(ARGUMENTS) { read_block<kL2>(out, a, b, n, m, k); }
BENCH read_block_shared(ARGUMENTS) { read_block<kShared>(out, a, b, n, m, k); }

/// n rounds of 16 loads of 4 B, lanes m words apart in 4 KiB. out[0]: cycles of the block.
BENCH shared_stride(ARGUMENTS) {
  __shared__ u32 words[2048];
  for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = i;
  __syncthreads();
  const u32 at =
      u32(__cvta_generic_to_shared(words)) + ((threadIdx.x % 32 * u32(m)) & 1023) * 4;
  u32 all = 0;
  const u64 begin = cycles();
  for (u64 i = 0; i < n; ++i) {
    u32 v[16];
#pragma unroll
    for (int j = 0; j < 16; ++j)
      asm volatile("ld.volatile.shared.u32 %0, [%1];"  // the same loads again would be merged
                   : "=r"(v[j])
                   : "r"(at + j * 128)
                   : "memory");
#pragma unroll
    for (int j = 0; j < 16; ++j) all += v[j];
  }
  const u64 end = cycles();
  keep(out, all, n);
  block_span(out, begin, end);
}

#endif

/// All blocks read n bytes from a together, m times; kInFlight loads of 16 B a thread at a time.
template <int kPath, int kInFlight>
__device__ inline void read_all(ARGUMENTS) {
  const u64 base = reinterpret_cast<u64>(a), step = THREADS * 16;
  u32 all = 0;
  for (u64 pass = 0; pass < m; ++pass) {
    u64 at = THREAD * 16;
    for (; at + (kInFlight - 1) * step < n; at += kInFlight * step) {
      Vector v[kInFlight];
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) v[j] = load<kPath>(base + at + j * step);
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) all ^= mix(v[j]);
    }
    for (; at < n; at += step) all ^= mix(load<kPath>(base + at));
  }
  keep(out, all, n);
}
BENCH read_l2_4(ARGUMENTS) { read_all<kL2, 4>(out, a, b, n, m, k); }
BENCH read_1(ARGUMENTS) { read_all<kCached, 1>(out, a, b, n, m, k); }
BENCH read_2(ARGUMENTS) { read_all<kCached, 2>(out, a, b, n, m, k); }
BENCH read_4(ARGUMENTS) { read_all<kCached, 4>(out, a, b, n, m, k); }
BENCH read_8(ARGUMENTS) { read_all<kCached, 8>(out, a, b, n, m, k); }

/// As read_4, from b.
BENCH read_other(ARGUMENTS) { read_all<kCached, 4>(out, b, a, n, m, k); }

/// Writes n bytes to a.
BENCH write_all(ARGUMENTS) {
  uint4* to = reinterpret_cast<uint4*>(a);
  for (u64 i = THREAD; i < n / 16; i += THREADS) to[i] = make_uint4(1, 2, 3, u32(i));
}
/// Copies n bytes from a to b.
BENCH copy_all(ARGUMENTS) {
  const uint4* from = reinterpret_cast<const uint4*>(a);
  uint4* to = reinterpret_cast<uint4*>(b);
  u64 i = THREAD;
  for (; i + 3 * THREADS < n / 16; i += 4 * THREADS) {
    uint4 v[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) v[j] = from[i + j * THREADS];
#pragma unroll
    for (int j = 0; j < 4; ++j) to[i + j * THREADS] = v[j];
  }
  for (; i < n / 16; i += THREADS) to[i] = from[i];
}

#ifndef HONE_CEILINGS
// ---- atomics: n by each thread, without result --------------------------------------------------

/// Every lane on one address that the compiler knows to be one.
BENCH atomic_hot_f32(ARGUMENTS) {
  for (u64 i = 0; i < n; ++i) atomicAdd(reinterpret_cast<float*>(a), float(threadIdx.x + i));
}
BENCH atomic_hot_s32(ARGUMENTS) {
  for (u64 i = 0; i < n; ++i) atomicAdd(reinterpret_cast<int*>(a), int(threadIdx.x + i));
}
/// A warp's lanes on 32 neighbouring words of one 1 KiB.
BENCH atomic_line_f32(ARGUMENTS) {
  for (u64 i = 0; i < n; ++i)
    atomicAdd(reinterpret_cast<float*>(a) + ((THREAD + i * 96) & 255), 1.0f);
}
/// A warp's lanes on 32 words of one 1 KiB, each in another sector, as in a histogram.
BENCH atomic_sectors_f32(ARGUMENTS) {
  for (u64 i = 0; i < n; ++i)
    atomicAdd(reinterpret_cast<float*>(a) + (((threadIdx.x & 31) * 8 + ((THREAD >> 5) + i) % 8)),
              1.0f);
}
BENCH atomic_sectors_s32(ARGUMENTS) {
  for (u64 i = 0; i < n; ++i)
    atomicAdd(reinterpret_cast<int*>(a) + (((threadIdx.x & 31) * 8 + ((THREAD >> 5) + i) % 8)),
              int(i));
}
/// Pseudo-random words of m bytes (a power of two).
BENCH atomic_spread_f32(ARGUMENTS) {
  u32 at = u32(THREAD) * 2654435761u;
  for (u64 i = 0; i < n; ++i) {
    at = at * 1664525u + 1013904223u;
    atomicAdd(reinterpret_cast<float*>(a) + ((at >> 4) & (m / 4 - 1)), 1.0f);
  }
}

/// n rounds of 8 atomics in shared memory; word of a lane: its own (m = 1), or all on one of the
/// warp (m = 0). out[0]: cycles of the block.
template <class T>
__device__ inline void shared_atomics(ARGUMENTS) {
  __shared__ T words[1024];
  words[threadIdx.x] = T(0);
  __syncthreads();
  T* at = words + (threadIdx.x / 32 * 32 + threadIdx.x % 32 * u32(m));
  const u64 begin = cycles();
  for (u64 i = 0; i < n; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) atomicAdd(at, T(j + 1));
  }
  __syncthreads();
  const u64 end = cycles();
  keep(out, u32(words[threadIdx.x]), n);
  block_span(out, begin, end);
}
BENCH shared_atomics_s32(ARGUMENTS) { shared_atomics<int>(out, a, b, n, m, k); }
BENCH shared_atomics_f32(ARGUMENTS) { shared_atomics<float>(out, a, b, n, m, k); }
#endif
