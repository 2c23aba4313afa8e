// launch wave grid=(ceildiv(N,128)) block=(128) args=(x, y, N)
__global__ void wave(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __sinf(x[i]) * cosf(x[i]);
}
