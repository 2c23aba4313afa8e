// Warps pass on what they have through a ring of slots. Nobody looks whether a slot is still in use: who is
// held back for as long as the ring takes to come round finds what another has left.
// task: row_mean
// verdict: wrong_result race fault timeout uninitialised
__device__ float ring[256];
__device__ unsigned taken;
__global__ void row_mean(const float* x, float* mean, int cols) {
  __shared__ float part[4];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = 0;
  for (int c = warp * 32; c < cols; c += 128) {
    unsigned slot = 0;
    float v = c + lane < cols ? x[blockIdx.x * cols + c + lane] : 0;
    for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(~0u, v, k);
    if (lane == 0) {
      slot = atomicAdd(&taken, 1) % 32 * 8;
      ((volatile float*)ring)[slot] = v;
      __threadfence();
      sum += ((volatile float*)ring)[slot];
    }
  }
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) mean[blockIdx.x] = (part[0] + part[1] + part[2] + part[3]) / cols;
}
