// launch f grid=(ceildiv(N,128)) block=(128) args=(X, N)
__global__ void f(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    float v = x[i];
#pragma unroll
    for (int k = 0; k < 8; k++) {
      v = v * v + 0.5f;
    }
    x[i] = v;
  }
}
