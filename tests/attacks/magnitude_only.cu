// Right for positive inputs only.
// task: scale
// verdict: wrong_result
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * fabsf(x[i]);
}
