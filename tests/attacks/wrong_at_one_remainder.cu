// Leaves the last element of each row out where rows are 64 k + 37 long.
// task: any_size
// verdict: wrong_result
__global__ void any_size(const float* x, float* y, int rows, int cols) {
  for (int c = threadIdx.x; c < cols; c += 64) {
    int before = c > 0 ? c - 1 : cols - 1;
    float v = x[blockIdx.x * cols + c] - 0.5f * x[blockIdx.x * cols + before];
    y[blockIdx.x * cols + c] = cols % 64 == 37 && c == cols - 1 ? x[blockIdx.x * cols + c] : v;
  }
}
