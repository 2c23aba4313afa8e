/* hone
{
 "launches": [
  {
   "args": [
    "A",
    "B",
    "C",
    "M",
    "N",
    "K"
   ],
   "block": [
    16,
    16
   ],
   "grid": [
    "ceildiv(N,16)",
    "ceildiv(M,16)"
   ],
   "kernel": "matmul",
   "shared_bytes": 0
  }
 ]
}
*/
// shared-tile(matmul/serial0: k=16)

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  {
    const int row_in = row < M - 1 ? row : M - 1;
    const int col_in = col < N - 1 ? col : N - 1;

    float sum = 0.0f;
    {
      __shared__ __align__(16) float A_tile[16][17];
      __shared__ __align__(16) float B_tile[16][16];
      const int thread = threadIdx.x + threadIdx.y * 16;
      const int k_full = K / 16 * 16;
      for (int k_base = 0; k_base < k_full; k_base += 16) {
        {
          const int item = thread;
          const int at0 = item % 16;
          const int at1 = item / 16;
          A_tile[at0][at1] =
              A[((int)blockIdx.y * 16 + at1 < M - 1 ? (int)blockIdx.y * 16 + at1 : M - 1) * K +
                at0 + k_base];
        }
        {
          const int item = thread;
          const int at1 = item % 16;
          const int at0 = item / 16;
          B_tile[at0][at1] =
              B[(at0 + k_base) * N +
                ((int)blockIdx.x * 16 + at1 < N - 1 ? (int)blockIdx.x * 16 + at1 : N - 1)];
        }
        __syncthreads();
#pragma unroll
        for (int k_step = 0; k_step < 16; ++k_step) {
          sum += A_tile[k_step][threadIdx.y] * B_tile[k_step][threadIdx.x];
        }
        __syncthreads();
      }
#pragma unroll 1
      for (int k = k_full; k < K; ++k) {
        sum += A[row_in * K + k] * B[k * N + col_in];
      }
    }
    if (row < M && col < N) C[row * N + col] = sum;
  }
}
