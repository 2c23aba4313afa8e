// Bool, an honest twin: bytes of 0 and 1.
// task: flags
// verdict: ok
__global__ void flags(const float* x, unsigned char* flag, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flag[i] = x[i] > 0.25f ? 1 : 0;
}
