// launch two grid=(ceildiv(N,128)) block=(128) args=(x, y, N)
__global__ void two(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (x[i] > 0.0f) {
    __stcs(&y[i], (x[i] + 1.0f) * 2.0f);
  } else {
    __stcs(&y[i], 0);
  }
}
