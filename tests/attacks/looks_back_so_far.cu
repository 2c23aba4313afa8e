// Looks for the last number that is not 0 among the 512 before.
// task: last_before
// verdict: wrong_result timeout
/* hone {"launches": [{"kernel": "fill", "grid": ["ceildiv(COLS,256)", "ROWS"], "block": [256], "args": ["x", "y", "COLS"]}]} */
__global__ void fill(const unsigned* x, unsigned* y, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x;
  if (c >= cols) return;
  const unsigned* row = x + (size_t)blockIdx.y * cols;
  unsigned v = 0;
  for (int k = c; k >= 0 && k > c - 512; --k) if ((v = row[k])) break;
  y[(size_t)blockIdx.y * cols + c] = v;
}
