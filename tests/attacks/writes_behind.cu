// Writes behind its output.
// task: scale
// verdict: fault
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
  if (i == 0) y[n] = 1.0f;
}
