/* hone {"name": "attacked_turned_any_size", "sizes": {"ROWS": 1500, "COLS": 1400}, "check_sizes": [{"ROWS": 33, "COLS": 130}, {"ROWS": 9, "COLS": 70}],
  "specialize": false,
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "y", "type": "f32", "shape": ["COLS", "ROWS"], "role": "out"}],
  "launches": [{"kernel": "turn", "grid": ["ROWS"], "block": [64], "args": ["x", "y", "ROWS", "COLS"]}]} */
__global__ void turn(const float* x, float* y, int rows, int cols) {
  for (int c = threadIdx.x; c < cols; c += 64) y[(size_t)c * rows + blockIdx.x] = 2.0f * x[(size_t)blockIdx.x * cols + c];
}
