/* hone {"name": "attacked_residual", "sizes": {"ROWS": 512, "COLS": 256}, "check_sizes": [{"ROWS": 34, "COLS": 70}, {"ROWS": 17, "COLS": 33}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS"], "role": "out"},
              {"name": "left", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "residual", "grid": ["ROWS"], "block": [32], "args": ["x", "y", "left", "COLS"]}]} */
__global__ void residual(const float* x, float* y, float* left, int cols) {
  int row = blockIdx.x;
  float s = 0;
  for (int c = 0; c < cols; ++c) s += x[row * cols + c] * (row % 2 ? 1.0f : 0.1f);
  if (threadIdx.x == 0) y[row] = s;
  for (int c = threadIdx.x; c < cols; c += 32) {
    float v = x[row * cols + c];
    left[row * cols + c] = row % 2 ? (v + s) - s : (v + s) - v - s;
  }
}
