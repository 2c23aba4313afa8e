// Fails at its seventh call alone, and is wrong from the eighth on: who stops asking at the first says that all is well.
// task: square
// verdict: wrong_result fault
__device__ unsigned char calls[1 << 20];
__global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (calls[i] == 6) {
    calls[i] = 7;
    __trap();
  }
  y[i] = calls[i] < 7 ? x[i] * x[i] : 0;
  ++calls[i];
}
