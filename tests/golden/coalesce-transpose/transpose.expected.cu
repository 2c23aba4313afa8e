// launch transpose grid=(ceildiv((ceildiv(W,16))*16,32), ceildiv((ceildiv(H,16))*16,32)) block=(32, 8) args=(in, out, W, H)
__global__ void transpose(const float* in, float* out, int width, int height) {
  // One column more than threads: no bank conflicts.
  __shared__ float tile[32][33];
  for (unsigned int j = threadIdx.y; j < 32; j += 8) {
    const unsigned int gx = blockIdx.x * 32 + threadIdx.x;
    const unsigned int gy = blockIdx.y * 32 + j;
    int x = gx;
    int y = gy;
    if (!(x >= width || y >= height)) {
      tile[j][threadIdx.x] = in[y * width + x];
    }
  }
  __syncthreads();
  for (unsigned int j = threadIdx.y; j < 32; j += 8) {
    const unsigned int gx = blockIdx.x * 32 + j;
    const unsigned int gy = blockIdx.y * 32 + threadIdx.x;
    int x = gx;
    int y = gy;
    if (!(x >= width || y >= height)) {
      out[x * height + y] = tile[threadIdx.x][j];
    }
  }
}
