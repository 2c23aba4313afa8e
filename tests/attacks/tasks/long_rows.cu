/* hone {"name": "attacked_long_rows", "sizes": {"ROWS": 4096, "COLS": 70000},
  "check_sizes": [{"ROWS": 16, "COLS": 500}, {"ROWS": 9, "COLS": 131}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"uniform": [0, 1]}},
              {"name": "sum", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "row_sum", "grid": ["ceildiv(ROWS,64)"], "block": [64], "args": ["x", "sum", "ROWS", "COLS"]}],
  "tolerance": {"rtol": 1e-3}} */
__global__ void row_sum(const float* x, float* sum, int rows, int cols) {
  int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= rows) return;
  float s = 0;
  for (int c = 0; c < cols; ++c) s += x[(size_t)row * cols + c];
  sum[row] = s;
}
