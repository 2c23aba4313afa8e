// Sources of tensor_hopper_sm_90a.ptx; regenerate.sh compiles them.
#include <cuda_fp16.h>

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// stmatrix undoes ldmatrix.
extern "C" __global__ void stmatrix_patterns(const uint4* in, uint4* out) {
  __shared__ __align__(16) uint4 tile[32];
  __shared__ __align__(16) uint4 plain[32];
  __shared__ __align__(16) uint4 turned[32];
  __shared__ __align__(16) uint4 pair[32];
  tile[threadIdx.x] = in[threadIdx.x];
  pair[threadIdx.x] = make_uint4(0, 0, 0, 0);
  __syncwarp();
  unsigned v[4], t[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(shared_address(tile + threadIdx.x)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(t[0]), "=r"(t[1]), "=r"(t[2]), "=r"(t[3])
               : "r"(shared_address(tile + threadIdx.x)));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(
                   shared_address(plain + threadIdx.x)),
               "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
               : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(
                   shared_address(turned + threadIdx.x)),
               "r"(t[0]), "r"(t[1]), "r"(t[2]), "r"(t[3])
               : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(
                   shared_address(pair + threadIdx.x)),
               "r"(v[2]), "r"(v[3])
               : "memory");
  __syncwarp();
  out[threadIdx.x] = plain[threadIdx.x];
  out[32 + threadIdx.x] = turned[threadIdx.x];
  out[64 + threadIdx.x] = pair[threadIdx.x];
}

// D (64 x 64, f32) = A (64 x 64 f16, rows of k) B (64 k x 64 n): four k steps of wgmma, tiles of
// 128-byte rows swizzled as TMA writes them. `way`: 0 as it should be; 1 no wait before the results
// are used; 2 A is overwritten before the wait; 3 the same after it; 4 no fence first; 5 only three
// warps; 6 B begins behind the end of shared memory; 7 A's last row is never written; 8 A in
// registers.
__device__ unsigned long long tile_descriptor(unsigned address) {
  return (unsigned long long)(address >> 4 & 0x3FFF) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

extern "C" __global__ void wgmma_matmul(const __half* A, const __half* B, float* D, int way) {
  __shared__ __align__(1024) __half As[64 * 64];  // [m][k]
  __shared__ __align__(1024) __half Bs[64 * 64];  // [n][k]
  const int rows = way == 7 ? 63 : 64;
  for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) {
    const int r = i / 64, k = i % 64;
    const int at = r * 64 + ((k / 8 ^ r % 8) * 8 + k % 8);
    if (r < rows) As[at] = A[r * 64 + k];
    Bs[at] = B[k * 64 + r];
  }
  float d[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) d[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (way == 5 && threadIdx.x >= 96) return;
  if (way != 4) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const unsigned long long da = tile_descriptor(shared_address(As) + k * 32);
    const unsigned long long db =
        tile_descriptor(shared_address(Bs) + k * 32 + (way == 6 ? 0x20000 : 0));
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), \
              "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define LIST "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
    if (way == 8) {
      unsigned a[4];
      for (int r = 0; r < 4; ++r)
        a[r] = *(const unsigned*)(A + (warp * 16 + lane / 4 + r % 2 * 8) * 64 + k * 16 +
                                  lane % 4 * 2 + r / 2 * 8);
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %37, 0;\n"
                   "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST
                   ", {%32,%33,%34,%35}, %36, p, 1, 1, 0; }"
                   : D8(0), D8(8), D8(16), D8(24)
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(db), "r"(k));
    } else {
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"
                   "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST
                   ", %32, %33, p, 1, 1, 0, 0; }"
                   : D8(0), D8(8), D8(16), D8(24)
                   : "l"(da), "l"(db), "r"(k));
    }
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  if (way == 2) As[threadIdx.x] = __float2half(0.f);
  if (way != 1) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  if (way == 3) {
    __syncthreads();
    As[threadIdx.x] = __float2half(0.f);
  }
#pragma unroll
  for (int i = 0; i < 32; ++i)
    D[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}
