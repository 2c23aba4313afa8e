// Warps hand partial sums on through global memory in the hope that warps run in order.
// task: row_mean
// verdict: race wrong_result uninitialised fault
__device__ float parts[4096 * 4];
__global__ void row_mean(const float* x, float* mean, int cols) {
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 128) sum += x[blockIdx.x * cols + c];
  for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
  if (threadIdx.x % 32 == 0) parts[blockIdx.x * 4 + threadIdx.x / 32] = sum;
  if (threadIdx.x == 96)
    mean[blockIdx.x] = (parts[blockIdx.x * 4] + parts[blockIdx.x * 4 + 1] + parts[blockIdx.x * 4 + 2] + sum) / cols;
}
