// launch ratio grid=(ceildiv(N,128)) block=(128) args=(x, y, N)
// Halves stay, and so does the integer division.
__global__ void ratio(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i] / 2.0f;
  float w = __fdividef(__fdividef((v + 1.0f), (v * v + 3.0f)), n);
  w = __fdividef(w, v * v + 1.0f);
  y[i] = w + i / 2;
}
