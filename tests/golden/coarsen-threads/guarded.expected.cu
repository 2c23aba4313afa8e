// launch matmul grid=(ceildiv(ceildiv(N,16),4), ceildiv(ceildiv(M,16),2)) block=(16, 16) args=(A, B, C, M, N, K)
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  float sum[2][4];
#pragma unroll
  for (int jy = 0; jy < 2; ++jy) {
#pragma unroll
    for (int jx = 0; jx < 4; ++jx) {
      sum[jy][jx] = 0.0f;
    }
  }
  for (int k = 0; k < K; k++) {
#pragma unroll
    for (int jy = 0; jy < 2; ++jy) {
      int row = (blockIdx.y * 2 + jy) * blockDim.y + threadIdx.y;
      const int row_in = row < M - 1 ? row : M - 1;
#pragma unroll
      for (int jx = 0; jx < 4; ++jx) {
        int col = (blockIdx.x * 4 + jx) * blockDim.x + threadIdx.x;
        const int col_in = col < N - 1 ? col : N - 1;
        sum[jy][jx] += A[row_in * K + k] * B[k * N + col_in];
      }
    }
  }
#pragma unroll
  for (int jy = 0; jy < 2; ++jy) {
    int row = (blockIdx.y * 2 + jy) * blockDim.y + threadIdx.y;
#pragma unroll
    for (int jx = 0; jx < 4; ++jx) {
      int col = (blockIdx.x * 4 + jx) * blockDim.x + threadIdx.x;
      if (row < M && col < N) C[row * N + col] = sum[jy][jx];
    }
  }
}
