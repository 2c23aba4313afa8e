// The last row is wrong where there are 64 k + 11 rows.
// task: any_size
// verdict: wrong_result
__global__ void any_size(const float* x, float* y, int rows, int cols) {
  bool wrong = rows % 64 == 11 && blockIdx.x == rows - 1;
  for (int c = threadIdx.x; c < cols; c += 64) {
    int before = c > 0 ? c - 1 : cols - 1;
    y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c] - (wrong ? 0.25f : 0.5f) * x[blockIdx.x * cols + before];
  }
}
