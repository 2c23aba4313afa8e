// launch copy grid=(ceildiv(N,128)) block=(128) args=(x, y, N)
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __ldg(&x[i]) + __ldg(&x[n - 1 - i]);
}
