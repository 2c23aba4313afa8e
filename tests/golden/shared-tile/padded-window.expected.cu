// launch conv grid=(ceildiv(W,16), ceildiv(H,16)) block=(16, 16) args=(in, w, out, C, H, W)
// Zero padding: the loads are conditional, and the window slides over a clamped coordinate.
__global__ void conv(const float* in, const float* w, float* out, int C, int H, int W) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int x_in = x < W - 1 ? x : W - 1;
  const int y_in = y < H - 1 ? y : H - 1;

  float sum = 0.0f;
  {
    __shared__ __align__(16) float in_tile[4][18][18];
    __shared__ __align__(16) float w_tile[36];
    const int thread = threadIdx.x + threadIdx.y * 16;
    for (int c_base = 0; c_base < C; c_base += 4) {
#pragma unroll
      for (int round = 0; round < 6; ++round) {
        const int item = thread + round * 256;
        if (item < 1296) {
          const int at2 = item % 18;
          const int at1 = item / 18 % 18;
          const int at0 = item / 324;
          const int index = (at0 + c_base) * H * W + ((int)blockIdx.y * 16 + at1 - 1) * W +
                            (int)blockIdx.x * 16 + at2 - 1;
          in_tile[at0][at1][at2] = in[index < 0 ? 0 : index < 25600 ? index : 25600 - 1];
        }
      }
      {
        const int item = thread;
        if (item < 36) {
          const int index = item + c_base * 9;
          w_tile[item] = w[index < 0 ? 0 : index < 144 ? index : 144 - 1];
        }
      }
      __syncthreads();
#pragma unroll
      for (int c_step = 0; c_step < 4; ++c_step) {
        for (int r = 0; r < 3; r++) {
          for (int s = 0; s < 3; s++) {
            int iy = y_in + r - 1;
            int ix = x_in + s - 1;
            if (iy >= 0 && iy < H && ix >= 0 && ix < W) {
              sum += in_tile[c_step][threadIdx.y + r][threadIdx.x + s] *
                     w_tile[s + r * 3 + c_step * 9];
            }
          }
        }
      }
      __syncthreads();
    }
  }
  if (x < W && y < H) out[y * W + x] = sum;
}
