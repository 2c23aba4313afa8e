// Those blocks that have most to do begin first.
// task: sums_before
// speedup: at most 1.5
// verdict: ok
__global__ void sums(const float* x, float* y, int n) {
  int i = (gridDim.x - 1 - blockIdx.x) * 64 + threadIdx.x;
  if (i >= n) return;
  float v = x[i], s = 0;
  for (int j = 0; j < i; ++j) s += fabsf(v - x[j]) * 0.001f;
  y[i] = s;
}
