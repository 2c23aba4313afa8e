/* hone {"name": "attacked_any_size", "sizes": {"ROWS": 500, "COLS": 400}, "check_sizes": [{"ROWS": 33, "COLS": 130}, {"ROWS": 9, "COLS": 70}],
  "specialize": false,
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "any_size", "grid": ["ROWS"], "block": [64], "args": ["x", "y", "ROWS", "COLS"]}]} */
__global__ void any_size(const float* x, float* y, int rows, int cols) {
  for (int c = threadIdx.x; c < cols; c += 64) {
    int before = c > 0 ? c - 1 : cols - 1;
    y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c] - 0.5f * x[blockIdx.x * cols + before];
  }
}
