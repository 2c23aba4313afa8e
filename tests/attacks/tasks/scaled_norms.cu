/* hone {"name": "attacked_scaled_norms", "sizes": {"ROWS": 4096, "COLS": 256}, "check_sizes": [{"ROWS": 33, "COLS": 100}, {"ROWS": 9, "COLS": 257}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "y", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "norms", "grid": ["ROWS"], "block": [32], "args": ["x", "y", "COLS"]}], "tolerance": {"rtol": 1e-4, "atol": 1e-30}} */
// The norm of each row, by its largest number, so that no square is too small or too large.
__global__ void norms(const float* x, float* y, int cols) {
  x += (size_t)blockIdx.x * cols;
  float most = 0, s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) most = fmaxf(most, fabsf(x[c]));
  for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  float scale = most > 0 ? 1.0f / most : 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) s += (x[c] * scale) * (x[c] * scale);
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) y[blockIdx.x] = most * sqrtf(s);
}
