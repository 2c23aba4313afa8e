// launch scale grid=(ceildiv(ceildiv(N,128),4)) block=(128) args=(x, s, y, N)
__global__ void scale(const float* x, const float* s, float* y, int n) {
  const float factor = s[0];
  float value[4];
#pragma unroll
  for (int jx = 0; jx < 4; ++jx) {
    const int i = ((blockIdx.x * blockDim.x + threadIdx.x) * 4 + jx);
    const int i_in = i < n - 1 ? i : n - 1;
    float v = x[i_in];
    if (v < 0.f) v = v * factor;
    value[jx] = v + x[i_in];
  }
#pragma unroll
  for (int jx = 0; jx < 4; ++jx) {
    const int i = ((blockIdx.x * blockDim.x + threadIdx.x) * 4 + jx);
    if (i < n) y[i] = value[jx];
  }
}
