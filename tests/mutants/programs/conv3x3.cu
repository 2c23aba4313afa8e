/* hone
{
 "launches": [
  {
   "args": [
    "input",
    "weight",
    "bias",
    "output",
    "C",
    "K",
    "H",
    "W"
   ],
   "block": [
    64
   ],
   "grid": [
    "(ceildiv(W,16))*16",
    "ceildiv(H,16)",
    "N*K"
   ],
   "kernel": "conv3x3",
   "shared_bytes": 0
  }
 ]
}
*/
// split-reduction(conv3x3: block=64,lanes=4,nest=outer)

// NCHW, stride 1, zero padding of one pixel.
__global__ void conv3x3(const float* input, const float* weight, const float* bias, float* output,
                        int C, int K, int H, int W) {
  // 4 lanes work on one output.
  const int lane = threadIdx.x % 4;
  const unsigned int group = blockIdx.x * 16 + threadIdx.x / 4;
  const unsigned int mask = 0xfu << (threadIdx.x & 28);

  int w = ((group / 256) * 16 + (group % 16));
  int h = (blockIdx.y * 16 + (group % 256 / 16 % 16));
  int n = blockIdx.z / K;
  int k = blockIdx.z % K;
  if (w >= W || h >= H) return;

  float sum = bias[k];
  if (lane != 0) sum = 0.0f;
  for (int c = lane; c < C; c += 4) {
    for (int r = 0; r < 3; r++) {
      for (int s = 0; s < 3; s++) {
        int ih = h + r - 1;
        int iw = w + s - 1;
        if (ih >= 0 && ih < H && iw >= 0 && iw < W) {
          sum += input[((n * C + c) * H + ih) * W + iw] * weight[((k * C + c) * 3 + r) * 3 + s];
        }
      }
    }
  }
#pragma unroll
  for (int offset = 2; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(mask, sum, offset);
  }

  if (lane == 0) output[((n * K + k) * H + h) * W + w] = sum;
}
