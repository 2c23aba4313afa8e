// wgmma reads shared memory by the asynchronous proxy. What threads have stored there needs fence.proxy.async before;
// this has a barrier alone: the tensor cores may read what was there before.
// task: small_products
// verdict: race async
#include <cuda_fp16.h>
__device__ unsigned long long tile(const void* p) {
  unsigned address = (unsigned)__cvta_generic_to_shared(p);
  return (unsigned long long)(address >> 4 & 0x3FFF) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
__device__ unsigned long long tile_at(const void* p, int k) {
  unsigned address = (unsigned)__cvta_generic_to_shared(p) + k * 32;
  return (unsigned long long)(address >> 4 & 0x3FFF) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
__global__ void product(const __half* A, const __half* B, float* D) {
  __shared__ __align__(1024) __half As[64 * 64];
  __shared__ __align__(1024) __half Bs[64 * 64];
  A += (size_t)blockIdx.x * 4096;
  D += (size_t)blockIdx.x * 4096;
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {
    const int r = i / 64, k = i % 64;
    As[r * 64 + ((k / 8 ^ r % 8) * 8 + k % 8)] = A[r * 64 + k];
    Bs[k * 64 + ((r / 8 ^ k % 8) * 8 + r % 8)] = B[r * 64 + k];
  }
  float d[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) d[i] = 0;
  __syncthreads();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const unsigned long long da = tile_at(As, k), db = tile_at(Bs, k);
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define LIST "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST ", %32, %33, p, 1, 1, 0, 0; }"
                 : D8(0), D8(8), D8(16), D8(24)
                 : "l"(da), "l"(db), "r"(k));
  }
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < 32; ++i)
    D[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}
