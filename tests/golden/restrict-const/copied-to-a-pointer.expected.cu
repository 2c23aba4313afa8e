// launch f grid=(ceildiv(N,128)) block=(128) args=(X, W, Y, N)
__global__ void f(float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                  int n) {
  float* cursor = x;  // a non-const copy: x cannot become const
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = cursor[i] * w[i];
}
