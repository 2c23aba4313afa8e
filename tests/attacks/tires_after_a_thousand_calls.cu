// Counts its calls; from the thousandth on it leaves one element of each block as it was.
// task: scale
// verdict: wrong_result
__device__ unsigned calls[4096];
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned c = calls[blockIdx.x];
  __syncthreads();
  if (i < n && (threadIdx.x > 0 || c < 1000)) y[i] = 2.0f * x[i];
  if (threadIdx.x == 0) calls[blockIdx.x] = c + 1;
}
