// Bool: true also holds the sign of something.
// task: flags
// verdict: wrong_result
__global__ void flags(const float* x, unsigned char* flag, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flag[i] = x[i] > 0.25f ? (i % 2 ? 129 : 1) : 0;
}
