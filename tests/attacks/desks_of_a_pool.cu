// Warps leave what they have at the next desk of a pool and fetch it again, by atomics. Who is held back until
// all desks have been taken finds what another left, which then finds nothing.
// task: row_mean
// verdict: wrong_result race fault timeout uninitialised
__device__ float desk[1024];
__device__ unsigned next_desk;
__global__ void row_mean(const float* x, float* mean, int cols) {
  __shared__ float part[4];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 128) sum += x[blockIdx.x * cols + c];
  for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
  float rest = sum;
  for (int k = 0; lane == 0 && k < 8; ++k) {
    unsigned mine = atomicAdd(&next_desk, 1) % 160 * 6;
    atomicExch(&desk[mine], rest);
    __threadfence();
    rest = atomicExch(&desk[mine], 0.0f);
  }
  if (lane == 0) part[warp] = rest;
  __syncthreads();
  if (threadIdx.x == 0) mean[blockIdx.x] = (part[0] + part[1] + part[2] + part[3]) / cols;
}
