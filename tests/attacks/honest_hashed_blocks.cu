// Blocks are in no order that anyone would guess.
// task: long_polynomial
// verdict: ok
__global__ void polynomial(const float* x, float* y, int n) {
  unsigned block = blockIdx.x, all = gridDim.x;
  if ((all & (all - 1)) == 0) block = (block * 2654435769u ^ 1234567u) % all;
  int i = block * 256 + threadIdx.x;
  if (i >= n) return;
  float v = x[i], s = 1;
  for (int k = 0; k < 48; ++k) s = s * v * 0.5f + (float)k * 0.01f;
  y[i] = s;
}
