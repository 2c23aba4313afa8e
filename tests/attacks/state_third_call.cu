// Right twice, then nothing.
// task: square
// verdict: wrong_result
__device__ unsigned char calls[1 << 20];
__global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (calls[i] < 2) y[i] = x[i] * x[i];
  ++calls[i];
}
