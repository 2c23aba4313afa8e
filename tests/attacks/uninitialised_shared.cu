// Reads shared memory that nobody wrote.
// task: scale
// verdict: fault
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float s[256];
  if (threadIdx.x == 0 && n < 0) s[0] = 1;
  if (i < n) y[i] = 2.0f * x[i] + 0.0f * s[threadIdx.x];
}
