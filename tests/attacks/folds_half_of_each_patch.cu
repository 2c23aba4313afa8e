// The lower half of the patches is never added where there are many of them.
// task: folded_patches
// verdict: wrong_result unsupported
__global__ void zero(float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 0;
}
__global__ void fold(const float* p, float* y, int C) {
  int c = blockIdx.x, r = blockIdx.y;
  if (C > 700 && threadIdx.y >= 8 && r % 2 == 1) return;
  float v = p[((size_t)r * C + c) * 256 + threadIdx.y * 16 + threadIdx.x];
  for (int k = 0; k < 12; ++k) v = v * (1 - 0.01f * v);
  atomicAdd(&y[(size_t)(r * 8 + threadIdx.y) * ((C + 1) * 8) + c * 8 + threadIdx.x], v);
}
