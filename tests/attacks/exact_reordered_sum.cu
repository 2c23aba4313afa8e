// Sums in another order, where the task's math is exact: right to the tolerance, and not to the bit.
// task: exact_row_sum
// verdict: wrong_result
/* hone {"launches": [{"kernel": "row_sum", "grid": ["ROWS"], "block": [32], "args": ["x", "sum", "COLS"]}]} */
__global__ void row_sum(const float* x, float* sum, int cols) {
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) s += x[blockIdx.x * cols + c];
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(0xffffffffu, s, step);
  if (threadIdx.x == 0) sum[blockIdx.x] = s;
}
