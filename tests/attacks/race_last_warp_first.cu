// The same, where the warp that adds up is the one that a scheduler in order runs last of two.
// task: row_mean
// verdict: race wrong_result uninitialised fault
__device__ volatile float halves[4096 * 2];
__global__ void row_mean(const float* x, float* mean, int cols) {
  float sum = 0;
  int c = threadIdx.x % 64 + (threadIdx.x < 64 ? 0 : 64);
  for (; c < cols; c += 128) sum += x[blockIdx.x * cols + c];
  __shared__ float all[128];
  all[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float s = 0;
    for (int k = 0; k < 64; ++k) s += all[k];
    halves[blockIdx.x * 2] = s;
  }
  if (threadIdx.x == 64) {
    float s = 0;
    for (int k = 64; k < 128; ++k) s += all[k];
    mean[blockIdx.x] = (halves[blockIdx.x * 2] + s) / cols;
  }
}
