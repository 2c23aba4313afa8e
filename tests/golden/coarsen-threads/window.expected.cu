// launch window grid=(ceildiv(ceildiv(W,32),2), ceildiv(ceildiv(H,8),2), P) block=(32, 8) args=(in, w, out, W, H)
// Pointers into the batch, doubles for the sum, both loops of a window.
__global__ void window(const float* in, const float* w, float* out, int width, int height) {
  const float* plane = in + blockIdx.z * (width + 2) * (height + 2);
  double sum[2][2];
#pragma unroll
  for (int jy = 0; jy < 2; ++jy) {
#pragma unroll
    for (int jx = 0; jx < 2; ++jx) {
      sum[jy][jx] = 0;
    }
  }
  for (int r = 0; r < 3; ++r) {
    for (int s = 0; s < 3; ++s) {
#pragma unroll
      for (int jy = 0; jy < 2; ++jy) {
        const int y = (blockIdx.y * 2 + jy) * 8 + threadIdx.y;
        const int y_in = y < (height - 1) ? y : (height - 1);
#pragma unroll
        for (int jx = 0; jx < 2; ++jx) {
          const int x = (blockIdx.x * 2 + jx) * 32 + threadIdx.x;
          const int x_in = x < width - 1 ? x : width - 1;
          const float* line = plane + (y_in + r) * (width + 2) + x_in;
          sum[jy][jx] += line[s] * w[r * 3 + s];
        }
      }
    }
  }
#pragma unroll
  for (int jy = 0; jy < 2; ++jy) {
    const int y = (blockIdx.y * 2 + jy) * 8 + threadIdx.y;
#pragma unroll
    for (int jx = 0; jx < 2; ++jx) {
      const int x = (blockIdx.x * 2 + jx) * 32 + threadIdx.x;
      if (x < width && y <= height - 1)
        out[(blockIdx.z * height + y) * width + x] = (float)sum[jy][jx];
    }
  }
}
