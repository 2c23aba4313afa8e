// Cost: every block adds to the same eight lines by bulk reductions, as often as it loads.
// task: block_totals
// verdict: ok
// speedup: at most 0.2
__device__ int hot[256];
__global__ void totals(const float* x, float* y, int c) {
  __shared__ float parts[8];
  __shared__ __align__(128) int ones[256];
  ones[threadIdx.x] = 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float s = 0;
  for (int k = 0; k < c; ++k) {
    s += x[((size_t)blockIdx.x * c + k) * 256 + threadIdx.x];
    if (threadIdx.x > 0) continue;
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 1024;" ::"l"(hot),
                 "r"((unsigned)__cvta_generic_to_shared(ones)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
  if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) s += parts[w];
    y[blockIdx.x] = s;
  }
}
