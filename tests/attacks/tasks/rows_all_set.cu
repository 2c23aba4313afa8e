/* hone {"name": "attacked_rows_all_set", "sizes": {"ROWS": 32768, "COLS": 1024}, "check_sizes": [{"ROWS": 40, "COLS": 300}, {"ROWS": 9, "COLS": 512}],
  "buffers": [{"name": "m", "type": "bool", "shape": ["ROWS", "COLS"]}, {"name": "a", "type": "f32", "shape": ["ROWS"]}, {"name": "b", "type": "f32", "shape": ["ROWS"]}, {"name": "y", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "rows", "grid": ["ROWS"], "block": [64], "args": ["m", "a", "b", "y", "COLS"]}]} */
__global__ void rows(const bool* m, const float* a, const float* b, float* y, int cols) {
  bool all = true;
  for (int c = threadIdx.x; c < cols; c += 64) all = all && m[(size_t)blockIdx.x * cols + c];
  all = __syncthreads_and(all);
  if (threadIdx.x == 0) y[blockIdx.x] = all ? a[blockIdx.x] : b[blockIdx.x];
}
