// Cost: every warp stores to seven words of one sector, as often as it loads.
// task: block_totals
// verdict: ok
// speedup: at most 0.3
__device__ unsigned seen[8];
__global__ void totals(const float* x, float* y, int c) {
  __shared__ float parts[8];
  float s = 0;
  for (int k = 0; k < c; ++k) {
    float v = x[((size_t)blockIdx.x * c + k) * 256 + threadIdx.x];
    s += v;
    ((volatile unsigned*)seen)[threadIdx.x % 7] = 1;
  }
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) s += parts[w];
    y[blockIdx.x] = s;
  }
}
