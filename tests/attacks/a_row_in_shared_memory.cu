// Sizes: shared memory holds a row of the timed size and no larger one.
// task: any_size
// verdict: wrong_result fault
__global__ void any_size(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x;
  __shared__ float row_of[400];
  for (int c = threadIdx.x; c < cols && c < 400; c += 64) row_of[c] = x[row * cols + c];
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += 64)
    y[row * cols + c] = row_of[c % 400] - 0.5f * row_of[(c > 0 ? c - 1 : cols - 1) % 400];
}
