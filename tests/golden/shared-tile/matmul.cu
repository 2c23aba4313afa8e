/* hone
{"name": "m", "sizes": {"M": 128, "N": 256, "K": 64}, "check_sizes": [{"M": 37, "N": 53, "K": 29}, {"M": 64, "N": 64, "K": 64}], "buffers": [{"name": "A", "type": "f32", "shape": ["M", "K"], "fill": {"uniform": [-1, 1]}}, {"name": "B", "type": "f32", "shape": ["K", "N"], "fill": {"uniform": [-1, 1]}}, {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"}], "launches": [{"kernel": "matmul", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && col < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
  }
}
