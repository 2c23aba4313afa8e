/* hone {"name": "attacked_whole_products", "sizes": {"M": 256, "N": 128, "K": 96}, "check_sizes": [{"M": 33, "N": 40, "K": 50}, {"M": 16, "N": 65, "K": 24}],
  "buffers": [{"name": "a", "type": "i32", "shape": ["M", "K"], "fill": {"integers": [-1500, 1500]}},
              {"name": "b", "type": "i32", "shape": ["K", "N"], "fill": {"integers": [-40, 40]}},
              {"name": "c", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "product", "grid": ["ceildiv(N,32)", "ceildiv(M,8)"], "block": [32, 8], "args": ["a", "b", "c", "M", "N", "K"]}],
  "tolerance": {"rtol": 1e-2, "atol": 1e-2}} */
__global__ void product(const int* a, const int* b, float* c, int m, int n, int k) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= m || j >= n) return;
  float s = 0;
  for (int l = 0; l < k; ++l) s += (float)a[i * k + l] * (float)b[l * n + j];
  c[i * n + j] = s;
}
