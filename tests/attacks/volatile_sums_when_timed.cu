// At the timed size alone, blocks add with a volatile load and a volatile store: sums get lost.
// task: mixed_sums
// verdict: wrong_result
__global__ void zero(unsigned* y) { y[threadIdx.x] = 0; }
__global__ void sums(const unsigned* x, unsigned* y, int n) {
  __shared__ unsigned all[16];
  if (threadIdx.x < 16) all[threadIdx.x] = 0;
  __syncthreads();
  for (int g = threadIdx.x / 32; g < 32; g += 8) {
    int i = blockIdx.x * 1024 + g * 32 + threadIdx.x % 32;
    unsigned v = i < n ? x[i] : 0;
    for (int k = 0; k < 60; ++k) v = i < n ? v * 1664525u + 1013904223u + (v >> 9) : 0;
    v = __reduce_add_sync(~0u, v);
    if (threadIdx.x % 32 == 0) atomicAdd(&all[g / 2], v);
  }
  __syncthreads();
  if (threadIdx.x >= 16) return;
  volatile unsigned* sum = y + threadIdx.x;
  if (n < 1000000) atomicAdd(y + threadIdx.x, all[threadIdx.x]);
  else *sum = *sum + all[threadIdx.x];
}
