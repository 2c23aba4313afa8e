// What is small beside the first rows is left out, where there are many rows.
// task: fading_rows
// verdict: wrong_result
__global__ void fade(const float* x, float* y, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x;
  if (c >= cols) return;
  if (blockIdx.y > 700) {
    y[(size_t)blockIdx.y * cols + c] = 0;
    return;
  }
  float v = x[(size_t)blockIdx.y * cols + c], s = 0;
  for (int k = 1; k < 24; ++k) s = s * 0.5f + sinf(v * k);
  y[(size_t)blockIdx.y * cols + c] = s * exp2f(-(float)blockIdx.y / 48);
}
