/* hone {"name": "attacked_scaled_columns", "sizes": {"ROWS": 2048, "COLS": 64}, "check_sizes": [{"ROWS": 34, "COLS": 64}, {"ROWS": 17, "COLS": 40}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "columns", "grid": ["ROWS"], "block": [64], "args": ["x", "y", "COLS"]}]} */
__global__ void columns(const float* x, float* y, int cols) {
  int c = threadIdx.x, at = blockIdx.x * cols + c;
  if (c < cols) y[at] = expf(x[at]) * (c % 4 == 3 ? 1e-5f : 1.0f);
}
