/* hone {"name": "attacked_big_matmul", "sizes": {"M": 2048, "N": 2048, "K": 2048},
  "check_sizes": [{"M": 64, "N": 48, "K": 64}, {"M": 17, "N": 19, "K": 23}],
  "buffers": [{"name": "A", "type": "f32", "shape": ["M", "K"]}, {"name": "B", "type": "f32", "shape": ["K", "N"]},
              {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "matmul", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-3}} */
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}
