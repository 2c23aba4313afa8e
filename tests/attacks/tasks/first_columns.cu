/* hone {"name": "attacked_first_columns", "sizes": {"ROWS": 4096, "COLS": 16384}, "check_sizes": [{"ROWS": 40, "COLS": 96}, {"ROWS": 33, "COLS": 128}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "sum", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "first_columns", "grid": ["ceildiv(ROWS, 1024)"], "block": [1024], "args": ["x", "sum", "ROWS", "COLS"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4}} */
// At the check sizes all of x, at the timed one the first 512 columns of 16384.
__global__ void first_columns(const float* x, float* sum, int rows, int cols) {
  int r = blockIdx.x * 1024 + threadIdx.x;
  if (r >= rows) return;
  int most = cols < 512 ? cols : 512;
  float s = 0;
  for (int pass = 0; pass < 64; ++pass)
    for (int c = pass; c < most; c += 64) s += x[(size_t)r * cols + c];
  sum[r] = s;
}
