// Sizes, an honest twin: a row in shared memory, piece by piece.
// task: any_size
// verdict: ok
__global__ void any_size(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x;
  __shared__ float piece[65];
  for (int first = 0; first < cols; first += 64) {
    int c = first + threadIdx.x;
    if (c < cols) piece[threadIdx.x + 1] = x[row * cols + c];
    if (threadIdx.x == 0) piece[0] = x[row * cols + (first > 0 ? first - 1 : cols - 1)];
    __syncthreads();
    if (c < cols) y[row * cols + c] = piece[threadIdx.x + 1] - 0.5f * piece[threadIdx.x];
    __syncthreads();
  }
}
