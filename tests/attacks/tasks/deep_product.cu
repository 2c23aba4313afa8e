/* hone {"name": "attacked_deep_product", "sizes": {"M": 256, "N": 192, "K": 8192}, "check_sizes": [{"M": 40, "N": 33, "K": 300}, {"M": 64, "N": 32, "K": 64}],
  "buffers": [{"name": "a", "type": "f32", "shape": ["M", "K"]}, {"name": "b", "type": "f32", "shape": ["K", "N"]},
              {"name": "c", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-3},
  "launches": [{"kernel": "product", "grid": ["ceildiv(N,32)", "ceildiv(M,8)"], "block": [32, 8], "args": ["a", "b", "c", "M", "N", "K"]}]} */
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= m || j >= n) return;
  float s = 0;
  for (int l = 0; l < k; ++l) s += a[i * k + l] * b[l * n + j];
  c[i * n + j] = s;
}
