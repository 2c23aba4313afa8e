// Adds up in shared memory, volatile, as warps did whose lanes went in step.
// task: wide_rows
// verdict: race fault wrong_result
__global__ void squares(const float* x, float* y, int cols) {
  __shared__ float all[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 256) s += x[(size_t)blockIdx.x * cols + c] * x[(size_t)blockIdx.x * cols + c];
  all[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d >= 32; d /= 2) {
    if (threadIdx.x < d) all[threadIdx.x] += all[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x >= 32) return;
  volatile float* own = all;
  for (int d = 16; d > 0; d /= 2)
    if (threadIdx.x < d) own[threadIdx.x] = own[threadIdx.x] + own[threadIdx.x + d];
  if (threadIdx.x == 0) y[blockIdx.x] = own[0];
}
