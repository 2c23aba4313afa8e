/* hone {"name": "attacked_lengths_of_rows", "sizes": {"ROWS": 8192, "N": 512}, "check_sizes": [{"ROWS": 24, "N": 256}, {"ROWS": 9, "N": 140}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "N"]}, {"name": "y", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "lengths", "grid": ["ROWS"], "block": [32], "args": ["x", "y", "N"]}],
  "tolerance": {"rtol": 1e-4, "atol": 0}} */
// The length of each row, whatever its size: scaled by the largest element.
__global__ void lengths(const float* x, float* y, int n) {
  x += (size_t)blockIdx.x * n;
  float m = 0, s = 0;
  for (int c = threadIdx.x; c < n; c += 32) m = fmaxf(m, fabsf(x[c]));
  for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  for (int c = threadIdx.x; c < n; c += 32) {
    float v = m > 0 ? x[c] / m : 0;
    s += v * v;
  }
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) y[blockIdx.x] = m * sqrtf(s);
}
