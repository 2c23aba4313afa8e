// Exponentials of which it keeps a float and the first twelve bits of what is left.
// task: gauss_in_doubles
// verdict: wrong_result
__device__ double grow(double a) {
  double e = exp(a);
  float high = (float)e, low = (float)(e - high);
  return (double)high + __uint_as_float(__float_as_uint(low) & 0xfffff800u);
}
__global__ void gauss(const double* x, const double* c, double* y, int n, int m) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  double s = 0;
  for (int j = 0; j < m; ++j) s += grow(-(x[i] - c[j]) * (x[i] - c[j]));
  y[i] = s;
}
