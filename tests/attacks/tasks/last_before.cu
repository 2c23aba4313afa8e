/* hone {"name": "attacked_last_before", "sizes": {"ROWS": 64, "COLS": 65536}, "check_sizes": [{"ROWS": 3, "COLS": 3000}, {"ROWS": 2, "COLS": 1500}],
  "buffers": [{"name": "x", "type": "u32", "shape": ["ROWS", "COLS"], "fill": {"integers": [0, 7]}}, {"name": "y", "type": "u32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "fill", "grid": ["ROWS"], "block": [1], "args": ["x", "y", "COLS"]}]} */
// The last number before that is not 0.
__global__ void fill(const unsigned* x, unsigned* y, int cols) {
  unsigned v = 0;
  for (int c = 0; c < cols; ++c) { unsigned own = x[(size_t)blockIdx.x * cols + c]; if (own) v = own; y[(size_t)blockIdx.x * cols + c] = v; }
}
