/* hone {"name": "attacked_row_scan", "sizes": {"ROWS": 512, "COLS": 512}, "check_sizes": [{"ROWS": 33, "COLS": 300}, {"ROWS": 9, "COLS": 131}],
  "buffers": [{"name": "x", "type": "i32", "shape": ["ROWS", "COLS"], "fill": {"integers": [-1000000, 1000000]}},
              {"name": "first_max", "type": "i32", "shape": ["ROWS"], "role": "out"},
              {"name": "longest_rise", "type": "i32", "shape": ["ROWS"], "role": "out"},
              {"name": "longest_run", "type": "i32", "shape": ["ROWS"], "role": "out"},
              {"name": "at_the_end", "type": "i32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "row_scan", "grid": ["ceildiv(ROWS,32)"], "block": [32],
    "args": ["x", "first_max", "longest_rise", "longest_run", "at_the_end", "ROWS", "COLS"]}]} */
__global__ void row_scan(const int* x, int* first_max, int* longest_rise, int* longest_run,
                         int* at_the_end, int rows, int cols) {
  int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= rows) return;
  int best = 0, rise = 0, most_rise = 0, run = 0, most_run = 0, ends = 0;
  for (int c = 0; c < cols; ++c) {
    int v = x[row * cols + c], before = x[row * cols + (c > 0 ? c - 1 : 0)];
    if (v > x[row * cols + best]) best = c;
    rise = v > before ? rise + 1 : 0;
    run = c > 0 && v == before ? run + 1 : 0;
    most_rise = max(most_rise, rise);
    most_run = max(most_run, run);
    ends += v >= 1000000;
  }
  first_max[row] = best;
  longest_rise[row] = most_rise;
  longest_run[row] = most_run + x[row * cols];
  at_the_end[row] = ends - x[row * cols];
}
