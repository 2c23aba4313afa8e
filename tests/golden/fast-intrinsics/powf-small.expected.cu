// launch moments grid=(ceildiv(N,128)) block=(128) args=(x, y, N)
static __device__ __forceinline__ float small_powf(float x, int n) {
  return n == 2 ? x * x : n == 3 ? x * x * x : (x * x) * (x * x);
}

__global__ void moments(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = small_powf(x[i], 2) + small_powf(x[i] - 1.0f, 3) + powf(x[i], 2.5f);
}
