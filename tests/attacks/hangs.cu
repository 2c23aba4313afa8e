// Never ends.
// task: scale
// verdict: timeout
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (x[0] < 1e30f) {
    if (i < n) ((volatile float*)y)[i] = 2.0f * x[i];
  }
}
