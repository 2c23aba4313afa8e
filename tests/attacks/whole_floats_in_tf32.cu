// Rounds floats that hold integers to eleven bits before it multiplies them.
// task: whole_floats
// verdict: wrong_result
__device__ float rounded(float v) { return __uint_as_float(__float_as_uint(v) + 0x1000u & ~0x1fffu); }
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= m || j >= n) return;
  float s = 0;
  for (int l = 0; l < k; ++l) s += rounded(a[i * k + l]) * rounded(b[l * n + j]);
  c[i * n + j] = s;
}
