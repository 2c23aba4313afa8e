/* hone
{"name": "matmul", "sizes": {"M": 512, "N": 512, "K": 256}, "check_sizes": [{"M": 33, "N": 65, "K": 17}], "buffers": [{"name": "A", "type": "f32", "shape": ["M", "K"]}, {"name": "B", "type": "f32", "shape": ["K", "N"]}, {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"}], "launches": [{"kernel": "matmul", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  const int bx = blockIdx.x, tx = threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = bx * blockDim.x + tx;
  if (row >= M || col >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}
