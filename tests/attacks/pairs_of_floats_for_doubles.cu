// A double as a float and a rest of few bits: three products of floats, 40 bits or so.
// task: products_in_doubles
// verdict: wrong_result
__global__ void product(const double* a, const double* b, double* y, int n) {
  double sum = 0;
  for (int j = threadIdx.x; j < n; j += 32) {
    double v = a[(size_t)blockIdx.x * n + j], w = b[j];
    float vh = (float)v, wh = (float)w;
    float vl = (float)(v - vh), wl = (float)(w - wh);
    sum += (double)vh * wh + (double)(vh * wl + vl * wh);
    sum = (double)(float)sum + (double)(__uint_as_float(__float_as_uint((float)(sum - (float)sum)) & 0xffff8000u));
  }
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
