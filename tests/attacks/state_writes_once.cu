// Writes at its first call only: a flag for each element is never set back.
// task: square
// verdict: wrong_result
__device__ unsigned char done[1 << 20];
__global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || done[i]) return;
  y[i] = x[i] * x[i];
  done[i] = 1;
}
