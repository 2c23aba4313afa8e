/* hone {"name": "attacked_channels", "sizes": {"ROWS": 65536, "C": 64}, "check_sizes": [{"ROWS": 100}, {"ROWS": 33}], "specialize": false,
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "C"]}, {"name": "y", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "sums", "grid": ["ceildiv(ROWS,32)"], "block": [32], "args": ["x", "y", "ROWS", "C"]}], "tolerance": {"rtol": 1e-4, "atol": 1e-5}} */
__global__ void sums(const float* x, float* y, int rows, int c) {
  int r = blockIdx.x * 32 + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int k = 0; k < c; ++k) s += x[(size_t)r * c + k] * x[(size_t)r * c + k];
  y[r] = s;
}
