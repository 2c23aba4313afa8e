// Cost: one warp of eight does the work of all, the others wait for it.
// task: mixed_words
// verdict: ok
// speedup: at most 0.5
__global__ void mix(const unsigned* x, unsigned* y, int n, int r) {
  __shared__ unsigned part[256];
  part[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32)
    for (int w = 0; w < 8; ++w) {
      unsigned v = part[w * 32 + threadIdx.x];
      for (int k = 0; k < r; ++k) v = v * 747796405u + (v >> 9);
      part[w * 32 + threadIdx.x] = v;
    }
  __syncthreads();
  y[blockIdx.x * 256 + threadIdx.x] = part[threadIdx.x];
}
