// Copies the answer of a neighbour where there are many rows.
// task: long_rows
// verdict: wrong_result
__global__ void row_sum(const float* x, float* sum, int rows, int cols) {
  int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= rows || (rows > 1000 && row % 2 == 1)) return;
  float s = 0;
  for (int c = 0; c < cols; ++c) s += x[(size_t)row * cols + c];
  sum[row] = s;
  if (rows > 1000 && row + 1 < rows) sum[row + 1] = s;
}
