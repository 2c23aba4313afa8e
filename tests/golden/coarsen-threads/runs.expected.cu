// launch matmul grid=(ceildiv(ceildiv(N,16),8), ceildiv(M,16)) block=(16, 16) args=(A, B, C, M, N, K)
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  {
    float sum[8];
#pragma unroll
    for (int jx = 0; jx < 8; ++jx) {
      sum[jx] = 0.0f;
    }
    for (int k = 0; k < K; k++) {
#pragma unroll
      for (int jx = 0; jx < 8; ++jx) {
        int col = ((blockIdx.x * 2 + jx / 4) * (blockDim.x * 4) + threadIdx.x * 4 + jx % 4);
        sum[jx] += A[row * K + k] * B[k * N + col];
      }
    }
#pragma unroll
    for (int jx = 0; jx < 8; ++jx) {
      int col = ((blockIdx.x * 2 + jx / 4) * (blockDim.x * 4) + threadIdx.x * 4 + jx % 4);
      C[row * N + col] = sum[jx];
    }
  }
}
