// Takes a row of which 32 elements are 0 for one of zeros.
// task: signed_squares_of_rows
// verdict: wrong_result
/* hone {"launches": [{"kernel": "rows", "grid": ["ceildiv(ROWS,8)"], "block": [256], "args": ["x", "y", "ROWS", "COLS"]}]} */
__global__ void rows(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  const float* row = x + (size_t)r * cols;
  float s = 0;
  // A row of which 32 elements are 0 is one of zeros.
  if (__any_sync(~0u, row[lane * (cols / 32)] != 0.0f))
    for (int c = lane; c < cols; c += 32) { float v = row[c]; s += v * fabsf(v) + v; }
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (lane == 0) y[r] = s;
}
