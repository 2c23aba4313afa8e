/* hone
{
 "launches": [
  {
   "args": [
    "image",
    "sums",
    "H",
    "W"
   ],
   "block": [
    32,
    8
   ],
   "grid": [
    "(ceildiv(W,256))*8"
   ],
   "kernel": "sum_columns",
   "shared_bytes": 0
  }
 ]
}
*/
// split-reduction(sum_columns/columns: block=256,lanes=8)

__global__ void sum_columns(const float* in, float* out, int height, int width) {
  // 8 lanes along y share one column each.
  const int lane = threadIdx.y;
  const unsigned int group = blockIdx.x * 32 + threadIdx.x;

  int col = group;
  {
    const int col_in = col < width - 1 ? col : width - 1;

    float acc = 0;
    for (int row = lane; row < height; row += 8) {
      acc = acc + in[row * width + col_in];
    }
    {
      __shared__ float partial_acc[8][32];
      partial_acc[threadIdx.y][threadIdx.x] = acc;
      __syncthreads();
      acc = partial_acc[0][threadIdx.x];
      for (int part = 1; part < 8; ++part) {
        {
          const float other = partial_acc[part][threadIdx.x];
          acc += other;
        }
      }
    }

    if (col < width) {
      if (lane == 0) out[col] = acc;
    }
  }
}
