// launch matmul grid=(N/128, M/32) block=(16, 16) args=(A, B, C, M, N, K)
// What coarsen-threads leaves: runs of four columns, two rows a block height apart.
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  float sum[2][8];
#pragma unroll
  for (int jy = 0; jy < 2; ++jy)
#pragma unroll
    for (int jx = 0; jx < 8; ++jx) sum[jy][jx] = 0.0f;
  {
    __shared__ __align__(16) float A_tile[8][33];
    __shared__ __align__(16) float B_tile[8][132];
    const int thread = threadIdx.x + threadIdx.y * 16;
    for (int k_base = 0; k_base < K; k_base += 8) {
      {
        const int item = thread;
        const int at0 = item % 8;
        const int at1 = item / 8;
        A_tile[at0][at1] = A[(blockIdx.y * 32 + at1) * K + at0 + k_base];
      }
#pragma unroll
      for (int round = 0; round < 4; ++round) {
        const int item = thread + round * 256;
        const int at0 = item % 8;
        const int at1 = item / 8;
        B_tile[at0][at1] = B[(blockIdx.x * 128 + at1) * K + at0 + k_base];
      }
      __syncthreads();
#pragma unroll
      for (int k_step = 0; k_step < 8; ++k_step) {
#pragma unroll
        for (int jy = 0; jy < 2; ++jy) {
#pragma unroll
          for (int jx = 0; jx < 8; ++jx) {
            sum[jy][jx] += A_tile[k_step][threadIdx.y + jy * 16] *
                           B_tile[k_step][threadIdx.x * 4 + (jx % 4) + (jx / 4) * 64];
          }
        }
      }
      __syncthreads();
    }
  }
#pragma unroll
  for (int jy = 0; jy < 2; ++jy) {
    int row = (blockIdx.y * 2 + jy) * blockDim.y + threadIdx.y;
#pragma unroll
    for (int jx = 0; jx < 8; ++jx) {
      int col = (blockIdx.x * 2 + jx / 4) * (blockDim.x * 4) + threadIdx.x * 4 + jx % 4;
      C[row * N + col] = sum[jy][jx];
    }
  }
}
