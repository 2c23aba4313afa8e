// Honest: the sign is flipped in the bits, which is the same.
// task: exact_map
// verdict: ok
__global__ void map(const float* x, const float* w, float* y, float* z, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = expf(-x[i] * x[i]) / w[i];
  z[i] = __uint_as_float(__float_as_uint(fmaxf(x[i], 0.0f)) ^ 0x80000000u);
}
