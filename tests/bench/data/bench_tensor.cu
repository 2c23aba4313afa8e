// Tensor-core kernels of emulator_bench: products only, fragments loaded once.

#define MMA_KERNEL(NAME, SUM, HOLDS, TEXT)                                                        \
  extern "C" __global__ void NAME(const unsigned* in, SUM* out, int n) {                          \
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;                                     \
    unsigned a[4], b[2];                                                                          \
    for (int i = 0; i < 4; ++i) a[i] = in[thread * 6 + i];                                        \
    for (int i = 0; i < 2; ++i) b[i] = in[thread * 6 + 4 + i];                                    \
    SUM c[4][4] = {};                                                                             \
    _Pragma("unroll 1") for (int i = 0; i < n; ++i) {                                             \
      _Pragma("unroll") for (int j = 0; j < 4; ++j) asm volatile(                                 \
          "mma.sync.aligned." TEXT " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" :     \
          "+" HOLDS(c[j][0]), "+" HOLDS(c[j][1]), "+" HOLDS(c[j][2]),                             \
          "+" HOLDS(c[j][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
    }                                                                                             \
    SUM sum = 0;                                                                                  \
    for (int j = 0; j < 4; ++j)                                                                   \
      for (int k = 0; k < 4; ++k) sum += c[j][k];                                                 \
    out[thread] = sum;                                                                            \
  }

MMA_KERNEL(mma_f16, float, "f", "m16n8k16.row.col.f32.f16.f16.f32")
MMA_KERNEL(mma_bf16, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA_KERNEL(mma_tf32, float, "f", "m16n8k8.row.col.f32.tf32.tf32.f32")
MMA_KERNEL(mma_s8, int, "r", "m16n8k32.row.col.s32.s8.s8.s32")

// Eight sums each, by their places in c.
#define SUMS8(FIRST)                                                                              \
  "+f"(c[FIRST]), "+f"(c[FIRST + 1]), "+f"(c[FIRST + 2]), "+f"(c[FIRST + 3]), "+f"(c[FIRST + 4]), \
      "+f"(c[FIRST + 5]), "+f"(c[FIRST + 6]), "+f"(c[FIRST + 7])

// One warpgroup: 64 x 128 sums, both operands from shared memory without swizzle.
extern "C" __global__ void wgmma_f16(const unsigned* in, float* out, int n) {
  __shared__ alignas(128) unsigned a[64 * 8];
  __shared__ alignas(128) unsigned b[128 * 8];
  for (int i = threadIdx.x; i < 64 * 8; i += 128) a[i] = in[i];
  for (int i = threadIdx.x; i < 128 * 8; i += 128) b[i] = in[64 * 8 + i];
  asm volatile("fence.proxy.async;");
  __syncthreads();
  const auto descriptor = [](const void* p, unsigned long long across) {
    return __cvta_generic_to_shared(p) >> 4 | (across >> 4) << 16 | (128ull >> 4) << 32;
  };
  const unsigned long long from_a = descriptor(a, 1024), from_b = descriptor(b, 2048);
  float c[64] = {};
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
        "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
        "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
        "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
        "%64, %65, 1, 1, 1, 0, 0;"
        : SUMS8(0), SUMS8(8), SUMS8(16), SUMS8(24), SUMS8(32), SUMS8(40), SUMS8(48), SUMS8(56)
        : "l"(from_a), "l"(from_b));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
  }
  float sum = 0;
  for (int k = 0; k < 64; ++k) sum += c[k];
  out[blockIdx.x * 128 + threadIdx.x] = sum;
}
