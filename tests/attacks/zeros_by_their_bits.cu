// Counts what has no bit, and leaves out minus zero.
// task: zeros_of_rows
// verdict: wrong_result
/* hone {"launches": [{"kernel": "rows", "grid": ["ceildiv(ROWS,8)"], "block": [256], "args": ["x", "y", "ROWS", "COLS"]}]} */
__global__ void rows(const float* x, int* y, int rows, int cols) {
  int r = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  const int* row = (const int*)(x + (size_t)r * cols);
  int s = 0;
  for (int c = lane; c < cols; c += 32) s += row[c] == 0;
  s = __reduce_add_sync(~0u, s);
  if (lane == 0) y[r] = s;
}
