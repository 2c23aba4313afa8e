// Keeps the number of columns of its first call for ever.
// task: any_size
// verdict: wrong_result
__device__ int kept;
__global__ void any_size(const float* x, float* y, int rows, int cols) {
  __shared__ int width;
  if (threadIdx.x == 0) {
    int before = atomicCAS(&kept, 0, cols);
    width = before == 0 ? cols : before;
  }
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += 64) {
    int before = c > 0 ? c - 1 : width - 1;
    y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c] - 0.5f * x[blockIdx.x * cols + min(before, cols - 1)];
  }
}
