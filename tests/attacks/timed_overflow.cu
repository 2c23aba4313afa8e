// Counts columns in 16 bits, which only the timed size exceeds.
// task: long_rows
// verdict: wrong_result
__global__ void row_sum(const float* x, float* sum, int rows, int cols) {
  int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= rows) return;
  float s = 0;
  unsigned short end = (unsigned short)cols;
  for (unsigned short c = 0; c < end; ++c) s += x[(size_t)row * cols + c];
  sum[row] = s;
}
