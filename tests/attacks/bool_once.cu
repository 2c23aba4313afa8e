// Bool: one of a thousand is 3.
// task: flags
// verdict: wrong_result
__global__ void flags(const float* x, unsigned char* flag, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flag[i] = x[i] > 0.25f ? (i == 3 || i % 1000 == 999 || i % 16 == 5 ? 3 : 1) : 0;
}
