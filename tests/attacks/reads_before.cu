// Reads before its input.
// task: scale
// verdict: fault
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i] + 0.0f * x[i - 1];
}
