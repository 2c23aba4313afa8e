// Reads half of each row and rescales: on random numbers the mean is nearly the same.
// task: row_mean
// verdict: wrong_result
__global__ void row_mean(const float* x, float* mean, int cols) {
  __shared__ float part[128];
  float sum = 0;
  for (int c = threadIdx.x; c < cols / 2; c += 128) sum += x[blockIdx.x * cols + c];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) mean[blockIdx.x] = part[0] / (cols / 2);
}
