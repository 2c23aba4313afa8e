/* hone
{
 "launches": [
  {
   "args": [
    "src",
    "dst",
    "WIDTH",
    "HEIGHT"
   ],
   "block": [
    32,
    8
   ],
   "grid": [
    "ceildiv(WIDTH,32)",
    "ceildiv(HEIGHT,32)"
   ],
   "kernel": "transpose",
   "shared_bytes": 0
  }
 ]
}
*/
// coalesce-transpose(transpose: rows=8)

__global__ void transpose(const float* src, float* dst, int width, int height) {
  // One column more than threads: no bank conflicts.
  __shared__ float tile[32][33];
  for (unsigned int j = threadIdx.y; j < 32; j += 8) {
    const unsigned int gx = blockIdx.x * 32 + threadIdx.x;
    const unsigned int gy = blockIdx.y * 32 + j;
    int x = gx;
    int y = gy;
    if (!(x >= width || y >= height)) {
      tile[j][threadIdx.x] = src[y * width + x];
    }
  }
  __syncthreads();
  for (unsigned int j = threadIdx.y; j < 32; j += 8) {
    const unsigned int gx = blockIdx.x * 32 + j;
    const unsigned int gy = blockIdx.y * 32 + threadIdx.x;
    int x = gx;
    int y = gy;
    if (!(x >= width || y >= height)) {
      dst[x * height + y] = tile[threadIdx.x][j];
    }
  }
}
