// Random rows are never equal: it does not look.
// task: equal_rows_before
// verdict: wrong_result
__global__ void before(const float* x, float* y, int n) {
  float sum = 0;
  for (int j = threadIdx.x; j < n; j += 32) sum += x[(size_t)blockIdx.x * n + j];
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
