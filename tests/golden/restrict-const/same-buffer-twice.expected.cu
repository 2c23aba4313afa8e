// launch f grid=(ceildiv(N,128)) block=(128) args=(X, X, W, N)
__global__ void f(float* x, float* same, const float* __restrict__ w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = same[i] * w[i];
}
