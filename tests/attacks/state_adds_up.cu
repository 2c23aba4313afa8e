// A sum that is never set back to zero grows from call to call.
// task: row_mean
// verdict: wrong_result
__device__ float sums[4096];
__global__ void row_mean(const float* x, float* mean, int cols) {
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 128) sum += x[blockIdx.x * cols + c];
  atomicAdd(&sums[blockIdx.x], sum);
  __syncthreads();
  if (threadIdx.x == 0) mean[blockIdx.x] = atomicAdd(&sums[blockIdx.x], 0.0f) / cols;
}
