// Honest: a warp a row, two sums a lane.
// task: products_in_doubles
// verdict: ok
__global__ void product(const double* a, const double* b, double* y, int n) {
  double even = 0, odd = 0;
  for (int j = threadIdx.x; j < n; j += 64) {
    even = fma(a[(size_t)blockIdx.x * n + j], b[j], even);
    if (j + 32 < n) odd += a[(size_t)blockIdx.x * n + j + 32] * b[j + 32];
  }
  double sum = even + odd;
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
