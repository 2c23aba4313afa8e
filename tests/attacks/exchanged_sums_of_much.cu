// Where there is much to add, blocks load the sum and exchange it for a larger one: what others add between gets lost.
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
  unsigned* sum = y + threadIdx.x;
  if (n < 500000) atomicAdd(y + threadIdx.x, all[threadIdx.x]);
  else atomicExch(sum, atomicAdd(sum, 0u) + all[threadIdx.x]);
}
