// Infinity where the reference has a number.
// task: scale
// verdict: wrong_result
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = i == 5 ? __int_as_float(0x7f800000) : 2.0f * x[i];
}
