// Begins at 0: of random rows the least is below.
// task: rows_by_their_largest
// verdict: wrong_result
__global__ void divide(const float* x, float* y, float* least, int n) {
  x += (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  float most = 0, low = 0;
  for (int j = threadIdx.x; j < n; j += 32) {
    most = fmaxf(most, fabsf(x[j]));
    low = fminf(low, x[j]);
  }
  for (int d = 16; d; d /= 2) {
    most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    low = fminf(low, __shfl_xor_sync(~0u, low, d));
  }
  for (int j = threadIdx.x; j < n; j += 32) y[j] = most == 0 ? x[j] : x[j] / most;
  if (threadIdx.x == 0) least[blockIdx.x] = low;
}
