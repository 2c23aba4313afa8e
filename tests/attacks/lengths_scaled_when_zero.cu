// Scales a row where the sum of its squares is 0 alone, and not where the squares have a few bits.
// task: lengths_of_rows
// verdict: wrong_result
/* hone {"launches": [{"kernel": "lengths", "grid": ["ceildiv(ROWS,4)"], "block": [128], "args": ["x", "y", "ROWS", "N"]}]} */
__global__ void lengths(const float* x, float* y, int rows, int n) {
  int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  x += (size_t)row * n;
  float s = 0, scale = 1;
  for (int c = lane; c < n; c += 32) s += x[c] * x[c];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (s == 0) {
    scale = 0x1p-100f;
    for (int c = lane; c < n; c += 32) {
      float v = x[c] * 0x1p100f;
      s += v * v;
    }
    for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  }
  if (lane == 0) y[row] = scale * sqrtf(s);
}
