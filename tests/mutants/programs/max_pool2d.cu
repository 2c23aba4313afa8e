/* hone
{
 "launches": [
  {
   "args": [
    "x",
    "y",
    "PLANES",
    "H",
    "W",
    "(H-1)/2+1",
    "(W-1)/2+1"
   ],
   "block": [
    64
   ],
   "grid": [
    "(ceildiv(PLANES*((H-1)/2+1)*((W-1)/2+1),256))*16"
   ],
   "kernel": "max_pool2d",
   "shared_bytes": 0
  }
 ]
}
*/
// split-reduction(max_pool2d: block=64,lanes=4,nest=outer)

// 3x3 window, stride 2, padding 1, as after the first layer of a ResNet. A plane is one channel of
// one image.
__global__ void max_pool2d(const float* x, float* y, int planes, int h, int w, int oh, int ow) {
  // 4 lanes work on one output.
  const int lane = threadIdx.x % 4;
  const unsigned int group = blockIdx.x * 16 + threadIdx.x / 4;
  const unsigned int mask = 0xfu << (threadIdx.x & 28);

  int tid = group;
  int total = planes * oh * ow;
  if (tid < total) {
    int ox = tid % ow;
    int oy = (tid / ow) % oh;
    int plane = tid / (ow * oh);

    float best = -3.402823466e+38f;
    for (int dy = (-1) + lane; dy <= 1; dy += 4) {
      for (int dx = -1; dx <= 1; dx++) {
        int iy = oy * 2 + dy;
        int ix = ox * 2 + dx;
        if (iy >= 0 && iy < h && ix >= 0 && ix < w) {
          float v = x[(plane * h + iy) * w + ix];
          if (v > best) best = v;
        }
      }
    }
#pragma unroll
    for (int offset = 2; offset > 0; offset /= 2) {
      {
        const float other = __shfl_xor_sync(mask, best, offset);
        if (other > best) best = other;
      }
    }
    best = __shfl_sync(mask, best, 0, 4);

    if (lane == 0) y[tid] = best;
  }
}
