// Gives +0 where the reference gives -0: equal numbers, other bits.
// task: exact_map
// verdict: wrong_result
__global__ void map(const float* x, const float* w, float* y, float* z, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = expf(-x[i] * x[i]) / w[i];
  z[i] = x[i] > 0.0f ? -x[i] : 0.0f;
}
