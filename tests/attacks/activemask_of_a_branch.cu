// Lanes of a branch count on running it together: their first writes what all of them have.
// task: row_mean
// verdict: wrong_result uninitialised fault race
__global__ void row_mean(const float* x, float* mean, int cols) {
  __shared__ int part[4];
  float sum = 0;
  if (threadIdx.x < 4) part[threadIdx.x] = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += 128) sum += x[blockIdx.x * cols + c];
  int fixed = __float2int_rn(sum * 65536);
  if (fixed > 0) {
    unsigned here = __activemask();
    int all = __reduce_add_sync(here, fixed);
    if (threadIdx.x % 32 == __ffs(here) - 1) part[threadIdx.x / 32] = all;
  }
  __syncthreads();
  if (threadIdx.x == 0) mean[blockIdx.x] = (part[0] + part[1] + part[2] + part[3]) / 65536.0f / cols;
}
