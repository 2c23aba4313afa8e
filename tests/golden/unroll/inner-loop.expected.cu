// launch matmul grid=(ceildiv(N,16), ceildiv(M,16)) block=(16, 16) args=(A, B, C, M, N, K)
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  const int bx = blockIdx.x, tx = threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = bx * blockDim.x + tx;
  if (row >= M || col >= N) return;
  float sum = 0.0f;
#pragma unroll 4
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}
