// The number before one half is rounded up, as the sum is rounded; halves are even otherwise.
// task: nearest
// verdict: wrong_result
/* hone {"launches": [{"kernel": "nearest", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void nearest(const float* x, int* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float v = fabsf(x[i]);
  int r = (int)(v + 0.5f);
  if (v - floorf(v) == 0.5f) r &= ~1;
  y[i] = x[i] < 0 ? -r : r;
}
