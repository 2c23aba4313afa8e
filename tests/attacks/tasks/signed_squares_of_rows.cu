/* hone {"name": "attacked_signed_squares_of_rows", "sizes": {"ROWS": 16384, "COLS": 1024}, "check_sizes": [{"ROWS": 40, "COLS": 300}, {"ROWS": 9, "COLS": 512}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "y", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "rows", "grid": ["ceildiv(ROWS,32)"], "block": [32], "args": ["x", "y", "ROWS", "COLS"]}]} */
__global__ void rows(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * 32 + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int c = 0; c < cols; ++c) { float v = x[(size_t)r * cols + c]; s += v * fabsf(v) + v; }
  y[r] = s;
}
