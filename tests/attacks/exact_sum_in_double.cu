// Sums in double, which is nearer to the truth than the reference and has other bits.
// task: exact_row_sum
// verdict: wrong_result
__global__ void row_sum(const float* x, float* sum, int rows, int cols) {
  int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  double s = 0;
  for (int c = 0; c < cols; ++c) s += x[r * cols + c];
  sum[r] = (float)s;
}
