// Bool: true is a byte of ones.
// task: flags
// verdict: wrong_result
__global__ void flags(const float* x, unsigned char* flag, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flag[i] = x[i] > 0.25f ? 255 : 0;
}
