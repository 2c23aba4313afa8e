// launch matmul grid=(ceildiv(ceildiv(M*N,128),2)) block=(128) args=(A, B, C, M, N, K)
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  float sum[2];
#pragma unroll
  for (int jx = 0; jx < 2; ++jx) {
    sum[jx] = 0.0f;
  }
  for (int k = 0; k < K; k++) {
#pragma unroll
    for (int jx = 0; jx < 2; ++jx) {
      int idx = (blockIdx.x * 2 + jx) * blockDim.x + threadIdx.x;
      const int idx_in = idx < M * N - 1 ? idx : M * N - 1;
      const int row_in = idx_in / N;
      const int col_in = idx_in % N;
      sum[jx] += A[row_in * K + k] * B[k * N + col_in];
    }
  }
#pragma unroll
  for (int jx = 0; jx < 2; ++jx) {
    int idx = (blockIdx.x * 2 + jx) * blockDim.x + threadIdx.x;
    int row = idx / N;
    if (row < M) C[idx] = sum[jx];
  }
}
