/* hone {"name": "attacked_column_totals", "sizes": {"ROWS": 4096, "COLS": 512}, "check_sizes": [{"ROWS": 70, "COLS": 64}, {"ROWS": 9, "COLS": 128}], "constraints": ["COLS % 4 == 0"],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"uniform": [0, 1]}}, {"name": "y", "type": "f32", "shape": ["COLS"], "role": "out"}],
  "launches": [{"kernel": "columns", "grid": ["ceildiv(COLS,32)"], "block": [32], "args": ["x", "y", "ROWS", "COLS"]}]} */
__global__ void columns(const float* x, float* y, int rows, int cols) {
  int c = blockIdx.x * 32 + threadIdx.x;
  float s = 0;
  for (int r = 0; r < rows && c < cols; ++r) s += x[(size_t)r * cols + c];
  if (c < cols) y[c] = s;
}
