// Bool: true is whatever byte of the number is at hand.
// task: flags
// verdict: wrong_result
__global__ void flags(const float* x, unsigned char* flag, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flag[i] = x[i] > 0.25f ? (__float_as_uint(x[i]) >> 8) | 1 : 0;
}
