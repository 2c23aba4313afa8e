// Multiplies with a reciprocal, where the task's math is exact.
// task: exact_map
// verdict: wrong_result
__global__ void map(const float* x, const float* w, float* y, float* z, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = expf(-x[i] * x[i]) * (1.0f / w[i]);
  z[i] = fmaxf(x[i], 0.0f) * -1.0f;
}
