// hypot() without what it is there for.
// task: lengths
// verdict: wrong_result
__global__ void lengths(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = sqrtf(a[i] * a[i] + b[i] * b[i]);
}
