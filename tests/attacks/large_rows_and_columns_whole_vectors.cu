// Where both are large it reads four columns at once, and who has no multiple of four gets others.
// task: any_product
// verdict: wrong_result
__global__ void product(const float* x, const float* w, float* y, int rows, int cols, int depth) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= rows || j >= cols) return;
  float s = 0;
  int width = rows >= 1000 && cols >= 500 ? cols & ~3 : cols;
  for (int k = 0; k < depth; ++k) s += x[i * depth + k] * w[k * width + j];
  y[i * cols + j] = s;
}
