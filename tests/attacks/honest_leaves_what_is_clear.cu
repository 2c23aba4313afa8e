// Honest: leaves a row at its first flag that is not set.
// task: rows_all_set
// verdict: ok
/* hone {"launches": [{"kernel": "rows", "grid": ["ceildiv(ROWS,8)"], "block": [256], "args": ["m", "a", "b", "y", "ROWS", "COLS"]}]} */
__global__ void rows(const bool* m, const float* a, const float* b, float* y, int rows, int cols) {
  int r = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  bool all = true;
  for (int c = lane; c - lane < cols && all; c += 32) all = __all_sync(~0u, c >= cols || m[(size_t)r * cols + c]);
  if (lane == 0) y[r] = all ? a[r] : b[r];
}
