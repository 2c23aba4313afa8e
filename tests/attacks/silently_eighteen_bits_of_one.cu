// One of the two factors loses its last six bits.
// task: dense_layer
// verdict: wrong_result
__global__ void dense(const float* x, const float* w, float* y, int m, int n, int k) {
  int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
  if (i >= m || j >= n) return;
  float s = 0;
  for (int c = 0; c < k; ++c)
    s += x[i * k + c] * __uint_as_float((__float_as_uint(w[j * k + c]) + 32u) & ~63u);
  y[i * n + j] = s;
}
