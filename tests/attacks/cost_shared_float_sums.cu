// Cost: all threads of a block add to two floats in shared memory.
// task: block_totals
// verdict: ok
// speedup: at most 0.7
__global__ void totals(const float* x, float* y, int c) {
  __shared__ float parts[2];
  if (threadIdx.x < 2) parts[threadIdx.x] = 0;
  __syncthreads();
  float s = 0;
  for (int k = 0; k < c; ++k) s += x[((size_t)blockIdx.x * c + k) * 256 + threadIdx.x];
  atomicAdd(parts + threadIdx.x % 2, s);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = parts[0] + parts[1];
}
