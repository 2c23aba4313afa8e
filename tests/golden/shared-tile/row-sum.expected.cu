// launch rows grid=(ceildiv(R,128)) block=(128) args=(m, s, R, C)
// Nothing is read twice, but neighbours in a warp are a row apart: staging coalesces.
__global__ void rows(const float* m, float* s, int R, int C) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  {
    float sum = 0.0f;
    {
      __shared__ __align__(16) float m_tile[32][129];
      const int thread = threadIdx.x;
      for (int c_base = 0; c_base < C; c_base += 32) {
#pragma unroll 4
        for (int round = 0; round < 32; ++round) {
          const int item = thread + round * 128;
          const int at0 = item % 32;
          const int at1 = item / 32;
          m_tile[at0][at1] =
              m[((int)blockIdx.x * 128 + at1 < R - 1 ? (int)blockIdx.x * 128 + at1 : R - 1) * C +
                at0 + c_base];
        }
        __syncthreads();
#pragma unroll
        for (int c_step = 0; c_step < 32; ++c_step) {
          sum += m_tile[c_step][threadIdx.x];
        }
        __syncthreads();
      }
    }
    if (r < R) s[r] = sum;
  }
}
