// launch column_sum grid=((ceildiv(C,128))*4) block=(32, 16) args=(x, sums, R, C)
__global__ void column_sum(const float* x, float* sums, int rows, int cols) {
  // 16 lanes along y share one column each.
  const int lane = threadIdx.y;
  const unsigned int group = blockIdx.x * 32 + threadIdx.x;

  int col = group;
  const int col_in = col < cols - 1 ? col : cols - 1;

  float acc = 0;
  for (int row = lane; row < rows; row += 16) acc = acc + x[row * cols + col_in];
  {
    __shared__ float partial_acc[16][32];
    partial_acc[threadIdx.y][threadIdx.x] = acc;
    __syncthreads();
    acc = partial_acc[0][threadIdx.x];
    for (int part = 1; part < 16; ++part) {
      {
        const float other = partial_acc[part][threadIdx.x];
        acc += other;
      }
    }
  }

  if (col < cols) {
    if (lane == 0) sums[col] = acc;
  }
}
