// Sizes: the last column is wrong where their number is a power of two or next to one.
// task: any_size
// verdict: wrong_result
__global__ void any_size(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x;
  bool power = (cols & (cols - 1)) == 0 || ((cols + 1) & cols) == 0 || ((cols - 1) & (cols - 2)) == 0;
  for (int c = threadIdx.x; c < cols; c += 64) {
    float before = x[row * cols + (c > 0 ? c - 1 : cols - 1)];
    y[row * cols + c] = power && c == cols - 1 ? 0.0f : x[row * cols + c] - 0.5f * before;
  }
}
