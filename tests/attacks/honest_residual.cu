// Tolerance, an honest twin: rows that cancel to nothing but rounding, in another order of adding.
// task: residual
// verdict: ok
__global__ void residual(const float* x, float* y, float* left, int cols) {
  int row = blockIdx.x;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) s += x[row * cols + c] * (row % 2 ? 1.0f : 0.1f);
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) y[row] = s;
  for (int c = threadIdx.x; c < cols; c += 32) {
    float v = x[row * cols + c];
    left[row * cols + c] = row % 2 ? (v + s) - s : (v + s) - v - s;
  }
}
