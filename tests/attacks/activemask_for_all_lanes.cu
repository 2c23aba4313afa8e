// Sums over a warp with __activemask() for the mask: it names who happens to be there, which may be a part.
// task: row_mean
// verdict: wrong_result uninitialised fault race
__global__ void row_mean(const float* x, float* mean, int cols) {
  __shared__ float part[4];
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 128) sum += x[blockIdx.x * cols + c];
  for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(__activemask(), sum, k);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) mean[blockIdx.x] = (part[0] + part[1] + part[2] + part[3]) / cols;
}
