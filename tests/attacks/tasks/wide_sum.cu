/* hone {"name": "attacked_wide_sum", "sizes": {"ROWS": 256, "COLS": 512}, "check_sizes": [{"ROWS": 16, "COLS": 256}, {"ROWS": 9, "COLS": 131}],
  "buffers": [{"name": "x", "type": "i32", "shape": ["ROWS", "COLS"]},
              {"name": "sum", "type": "i64", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "wide_sum", "grid": ["ROWS"], "block": [32], "args": ["x", "sum", "COLS"]}]} */
__global__ void wide_sum(const int* x, long long* sum, int cols) {
  long long s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) s += x[blockIdx.x * cols + c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(~0u, s, d);
  if (threadIdx.x == 0) sum[blockIdx.x] = s;
}
