// Floods whoever reads its output.
// task: scale
// verdict: unsupported timeout crash
#include <cstdio>
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
  for (int k = 0; k < 1000000; ++k) printf("%d %f flood flood flood flood\n", k, x[0]);
}
