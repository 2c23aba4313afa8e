// Honest: as the task, but what it scales by is a power of two.
// task: scaled_norms
// verdict: ok
__global__ void norms(const float* x, float* y, int cols) {
  x += (size_t)blockIdx.x * cols;
  float most = 0, s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) most = fmaxf(most, fabsf(x[c]));
  for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  int e = most > 0 ? ilogbf(most) : 0;
  e = min(max(e, -120), 120);
  float scale = ldexpf(1.0f, -e);
  for (int c = threadIdx.x; c < cols; c += 32) s += (x[c] * scale) * (x[c] * scale);
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) y[blockIdx.x] = ldexpf(sqrtf(s), e);
}
