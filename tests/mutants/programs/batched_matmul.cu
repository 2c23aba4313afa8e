/* hone
{
 "launches": [
  {
   "args": [
    "a",
    "b",
    "c",
    "M",
    "N",
    "K"
   ],
   "block": [
    16,
    16,
    1
   ],
   "grid": [
    "ceildiv(N,16)",
    "ceildiv(ceildiv(M,16),2)",
    "B"
   ],
   "kernel": "bmm",
   "shared_bytes": 0
  }
 ]
}
*/
// coarsen-threads(bmm: run=1,x=1,y=2)
// shared-tile(bmm/serial0: k=8)

__global__ void bmm(const float* a, const float* b, float* c, int m, int n, int k) {
  int x = threadIdx.x + blockDim.x * blockIdx.x;
  int batch = blockIdx.z;
  const float* a_batch = a + batch * m * k;
  const float* b_batch = b + batch * k * n;
  float* c_batch = c + batch * m * n;
  {
    const int x_in = x < n - 1 ? x : n - 1;
    float total[2];
#pragma unroll
    for (int jy = 0; jy < 2; ++jy) {
      total[jy] = 0;
    }
    {
      __shared__ __align__(16) float a_tile[8][33];
      __shared__ __align__(16) float b_tile[8][16];
      const int thread = threadIdx.x + threadIdx.y * 16;
      const int i_full = k / 8 * 8;
      for (int i_base = 0; i_base < i_full; i_base += 8) {
        {
          const int item = thread;
          const int at0 = item % 8;
          const int at1 = item / 8;
          a_tile[at0][at1] =
              a[(blockIdx.z * m +
                 ((int)blockIdx.y * 32 + at1 < m - 1 ? (int)blockIdx.y * 32 + at1 : m - 1)) *
                    k +
                at0 + i_base];
        }
        {
          const int item = thread;
          if (item < 128) {
            const int at1 = item % 16;
            const int at0 = item / 16;
            b_tile[at0][at1] =
                b[(blockIdx.z * k + at0 + i_base) * n +
                  ((int)blockIdx.x * 16 + at1 < n - 1 ? (int)blockIdx.x * 16 + at1 : n - 1)];
          }
        }
        __syncthreads();
#pragma unroll
        for (int i_step = 0; i_step < 8; ++i_step) {
#pragma unroll
          for (int jy = 0; jy < 2; ++jy) {
            total[jy] += a_tile[i_step][threadIdx.y + jy * 16] * b_tile[i_step][threadIdx.x];
          }
        }
        __syncthreads();
      }
#pragma unroll 1
      for (int i = i_full; i < k; ++i) {
#pragma unroll
        for (int jy = 0; jy < 2; ++jy) {
          int y = threadIdx.y + blockDim.y * (blockIdx.y * 2 + jy);
          const int y_in = y < m - 1 ? y : m - 1;
          total[jy] += a_batch[y_in * k + i] * b_batch[i * n + x_in];
        }
      }
    }
#pragma unroll
    for (int jy = 0; jy < 2; ++jy) {
      int y = threadIdx.y + blockDim.y * (blockIdx.y * 2 + jy);
      if (x < n && y < m) c_batch[y * n + x] = total[jy];
    }
  }
}
