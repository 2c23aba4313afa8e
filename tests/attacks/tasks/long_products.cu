/* hone {"name": "attacked_long_products", "sizes": {"M": 96, "N": 128, "K": 6144}, "check_sizes": [{"M": 33, "N": 40, "K": 190}, {"M": 16, "N": 65, "K": 512}],
  "buffers": [{"name": "A", "type": "f32", "shape": ["K", "M"]}, {"name": "B", "type": "f32", "shape": ["K", "N"]},
              {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "product", "grid": ["ceildiv(N,32)", "ceildiv(M,8)"], "block": [32, 8], "args": ["A", "B", "C", "M", "N", "K"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-3}} */
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= M || j >= N) return;
  float s = 0;
  for (int k = 0; k < K; ++k) s += A[(size_t)k * M + i] * B[(size_t)k * N + j];
  C[i * N + j] = s;
}
