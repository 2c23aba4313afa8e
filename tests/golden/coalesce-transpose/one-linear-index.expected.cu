// launch transpose grid=(ceildiv(W,32), ceildiv((ceildiv(ceildiv((ceildiv(H*W,256))*(256),W),8))*8,32)) block=(32, 8) args=(in, out, H, W)
__global__ void transpose(const float* in, float* out, int rows, int cols) {
  // One column more than threads: no bank conflicts.
  __shared__ float tile[32][33];
  for (unsigned int j = threadIdx.y; j < 32; j += 8) {
    const unsigned int gx = blockIdx.x * 32 + threadIdx.x;
    const unsigned int gy = blockIdx.y * 32 + j;
    const int column = gx;
    const int row = gy;
    if (!(column >= (cols) || row * (cols) + column >= 512000)) {
      int i = (row * (cols) + column);
      if (i < rows * cols) {
        tile[j][threadIdx.x] = in[i];
      }
    }
  }
  __syncthreads();
  for (unsigned int j = threadIdx.y; j < 32; j += 8) {
    const unsigned int gx = blockIdx.x * 32 + j;
    const unsigned int gy = blockIdx.y * 32 + threadIdx.x;
    const int column = gx;
    const int row = gy;
    if (!(column >= (cols) || row * (cols) + column >= 512000)) {
      int i = (row * (cols) + column);
      if (i < rows * cols) {
        int r = row;
        int c = column;
        out[c * rows + r] = tile[threadIdx.x][j];
      }
    }
  }
}
