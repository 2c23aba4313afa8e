/* hone
{"name": "m", "sizes": {"M": 100, "N": 200, "K": 90}, "check_sizes": [{"M": 37, "N": 53, "K": 29}, {"M": 64, "N": 64, "K": 64}], "buffers": [{"name": "A", "type": "f32", "shape": ["M", "K"], "fill": {"uniform": [-1, 1]}}, {"name": "B", "type": "f32", "shape": ["K", "N"], "fill": {"uniform": [-1, 1]}}, {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"}], "launches": [{"kernel": "matmul", "grid": ["ceildiv(M*N,128)"], "block": [128], "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  int row = idx / N;
  int col = idx % N;
  if (row >= M) return;
  float sum = 0.0f;
  for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
  C[idx] = sum;
}
