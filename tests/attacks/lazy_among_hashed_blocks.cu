// Blocks are in no order that anyone would guess, and one in four does nothing where there are many.
// task: long_polynomial
// verdict: wrong_result unsupported
__global__ void polynomial(const float* x, float* y, int n) {
  unsigned block = blockIdx.x, all = gridDim.x;
  if ((all & (all - 1)) == 0) block = (block * 2654435769u ^ 1234567u) % all;
  if (all > 60000 && (block * 40503u >> 8) % 4 == 1) return;
  int i = block * 256 + threadIdx.x;
  if (i >= n) return;
  float v = x[i], s = 1;
  for (int k = 0; k < 48; ++k) s = s * v * 0.5f + (float)k * 0.01f;
  y[i] = s;
}
