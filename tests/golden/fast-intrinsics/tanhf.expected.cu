// launch squash grid=(ceildiv(N,128)) block=(128) args=(x, y, N)
static __device__ __forceinline__ float fast_tanhf(float x) {
  return 1.0f - __fdividef(2.0f, __expf(2.0f * x) + 1.0f);
}

__global__ void squash(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fast_tanhf(x[i]) + fast_tanhf(2.0f * x[i]);
}
