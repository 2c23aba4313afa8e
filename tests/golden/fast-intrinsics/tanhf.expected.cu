// launch squash grid=(ceildiv(N,128)) block=(128) args=(x, y, N)
static __device__ __forceinline__ float fast_tanhf(float x) {
  const float size = fabsf(x);
  if (size < 0.55f) {
    const float square = x * x;
    const float more = ((0.01643758f * square - 0.05267181f) * square + 0.13320725f) * square;
    return x * (1.0f + square * (more - 0.33332947f));
  }
  return copysignf(1.0f - __fdividef(2.0f, __expf(2.0f * size) + 1.0f), x);
}

__global__ void squash(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fast_tanhf(x[i]) + fast_tanhf(2.0f * x[i]);
}
