// The norm as the root of the sum of squares: of small numbers that is 0.
// task: scaled_norms
// verdict: wrong_result
__global__ void norms(const float* x, float* y, int cols) {
  x += (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) s += x[c] * x[c];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sqrtf(s);
}
