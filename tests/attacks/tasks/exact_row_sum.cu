/* hone {"name": "attacked_exact_row_sum", "sizes": {"ROWS": 256, "COLS": 1024}, "check_sizes": [{"ROWS": 16, "COLS": 128}, {"ROWS": 9, "COLS": 131}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "sum", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "row_sum", "grid": ["ceildiv(ROWS, 64)"], "block": [64], "args": ["x", "sum", "ROWS", "COLS"]}],
  "math": "exact", "tolerance": {"rtol": 1e-3, "atol": 1e-3}} */
__global__ void row_sum(const float* x, float* sum, int rows, int cols) {
  int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int c = 0; c < cols; ++c) s += x[r * cols + c];
  sum[r] = s;
}
