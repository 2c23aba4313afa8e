// Products of forty bits, where the task has doubles; far below its tolerance.
// task: products_in_doubles
// verdict: wrong_result
__device__ double cut(double v) {
  return __longlong_as_double(__double_as_longlong(v) & ~((1ll << 13) - 1));
}
__global__ void product(const double* a, const double* b, double* y, int n) {
  double sum = 0;
  for (int j = threadIdx.x; j < n; j += 32) sum += cut(a[(size_t)blockIdx.x * n + j]) * cut(b[j]);
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
