// Honest: the same additions in the same order, of elements that a block brings to shared memory.
// task: exact_row_sum
// verdict: ok
// H200 [us]: 99.6
/* hone {"launches": [{"kernel": "row_sum", "grid": ["ceildiv(ROWS, 32)"], "block": [32], "args": ["x", "sum", "ROWS", "COLS"]}]} */
__global__ void row_sum(const float* x, float* sum, int rows, int cols) {
  __shared__ float tile[32][33];
  int first = blockIdx.x * 32, lane = threadIdx.x;
  float s = 0;
  for (int c = 0; c < cols; c += 32) {
    for (int r = 0; r < 32; ++r)
      if (first + r < rows && c + lane < cols) tile[r][lane] = x[(first + r) * cols + c + lane];
    __syncwarp();
    int most = cols - c < 32 ? cols - c : 32;
    for (int k = 0; k < most; ++k) s += first + lane < rows ? tile[lane][k] : 0.0f;
    __syncwarp();
  }
  if (first + lane < rows) sum[first + lane] = s;
}
