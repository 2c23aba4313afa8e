// launch silu grid=(ceildiv(N,128)) block=(128) args=(x, y, N)
__device__ float sigmoid(float v) { return 1.0f / (1.0f + __expf(-v)); }

__global__ void silu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * sigmoid(x[i]);
}
