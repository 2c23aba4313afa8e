// launch k grid=(ceildiv(W,32), ceildiv((ceildiv(H,8))*8,32), B) block=(32, 16) args=(in, bias, out, H, W)
__global__ void k(const float* in, const float* bias, float* out, int rows, int cols) {
  // One column more than threads: no bank conflicts.
  __shared__ float tile[32][33];
  for (unsigned int j = threadIdx.y; j < 32; j += 16) {
    const unsigned int gx = blockIdx.x * 32 + j;
    const unsigned int gy = blockIdx.y * 32 + threadIdx.x;
    const int c = gx;
    const int r = gy;
    const int b = blockIdx.z;
    if (r < rows && c < cols) {
      const float v = in[(b * cols + c) * rows + r] + bias[b];
      tile[threadIdx.x][j] = v > 0.0f ? v : 0.1f * v;
    }
  }
  __syncthreads();
  for (unsigned int j = threadIdx.y; j < 32; j += 16) {
    const unsigned int gx = blockIdx.x * 32 + threadIdx.x;
    const unsigned int gy = blockIdx.y * 32 + j;
    const int c = gx;
    const int r = gy;
    const int b = blockIdx.z;
    if (r < rows && c < cols) {
      out[(b * rows + r) * cols + c] = tile[j][threadIdx.x];
    }
  }
}
