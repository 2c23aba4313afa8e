// Cost: a table of 1 KB that is loaded again and again, an acquire before each time: from the L2, as the L1 forgets.
// task: block_totals
// verdict: ok
// speedup: at most 0.23
__device__ unsigned seen[8];
__global__ void totals(const float* x, float* y, int c) {
  __shared__ float parts[8];
  float s = 0, t = 0;
  if (threadIdx.x == 0) ((volatile unsigned*)seen)[0] = 1;
  __syncthreads();
  for (int k = 0; k < c; ++k) {
    s += x[((size_t)blockIdx.x * c + k) * 256 + threadIdx.x];
    unsigned v;
    float4 q;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(seen) : "memory");
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      asm volatile("ld.global.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(q.x), "=f"(q.y), "=f"(q.z), "=f"(q.w)
                   : "l"(x + 4 * ((threadIdx.x + 32 * j) % 64)) : "memory");
      t += q.x + q.y + q.z + q.w;
    }
    t += v > 1;
  }
  if (t == 12345.678f) s += 1;
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) s += parts[w];
    y[blockIdx.x] = s;
  }
}
