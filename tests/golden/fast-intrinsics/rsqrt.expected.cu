// launch normalise grid=(ceildiv(N,128)) block=(128) args=(x, y, N)
__global__ void normalise(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  float a = rsqrtf(v * v + 1.0f);
  float b = v * (rsqrtf(v * v + 2.0f));
  y[i] = a * b;
}
