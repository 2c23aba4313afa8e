// launch matmul grid=(ceildiv(N,16), ceildiv(M,16)) block=(16, 16) args=(A, B, C, M, N, K)
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  {
    float sum = 0.0f;
    {
      __shared__ __align__(16) float A_tile[16][17];
      __shared__ __align__(16) float B_tile[16][16];
      const int thread = threadIdx.x + threadIdx.y * 16;
      for (int k_base = 0; k_base < K; k_base += 16) {
        {
          const int item = thread;
          const int at0 = item % 16;
          const int at1 = item / 16;
          A_tile[at0][at1] = A[(blockIdx.y * 16 + at1) * K + at0 + k_base];
        }
        {
          const int item = thread;
          const int at1 = item % 16;
          const int at0 = item / 16;
          B_tile[at0][at1] = B[(at0 + k_base) * N + blockIdx.x * 16 + at1];
        }
        __syncthreads();
#pragma unroll
        for (int k_step = 0; k_step < 16; ++k_step) {
          sum += A_tile[k_step][threadIdx.y] * B_tile[k_step][threadIdx.x];
        }
        __syncthreads();
      }
    }
    C[row * N + col] = sum;
  }
}
