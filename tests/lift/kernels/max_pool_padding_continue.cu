/* hone
{ "name": "max_pool_padding_continue",
  "sizes": {"N": 8, "C": 32, "H": 64, "W": 64},
  "check_sizes": [{"N": 2, "C": 3, "H": 9, "W": 11}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", "C", "H", "W"]},
    {"name": "y", "type": "f32", "shape": ["N", "C", "(H+1)/2", "(W+1)/2"], "role": "out"} ],
  "launches": [
    {"kernel": "pool", "grid": ["ceildiv(N*C*((H+1)/2)*((W+1)/2),64)"], "block": [64], "args": ["x", "y", "N", "C", "H", "W", "(H+1)/2", "(W+1)/2"]} ] }
*/
// lift: yes

#include <float.h>
__global__ void pool(const float* x, float* y, int N, int C, int H, int W, int OH, int OW) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= N * C * OH * OW) return;
  int ow = idx % OW, oh = idx / OW % OH, c = idx / (OW * OH) % C, n = idx / (OW * OH * C);
  float best = -FLT_MAX;
  for (int kh = 0; kh < 3; ++kh) {
    int h = oh * 2 - 1 + kh;
    if (h < 0 || h >= H) continue;
    for (int kw = 0; kw < 3; ++kw) {
      int w = ow * 2 - 1 + kw;
      if (w < 0 || w >= W) continue;
      float v = x[((n * C + c) * H + h) * W + w];
      if (v > best) best = v;
    }
  }
  y[idx] = best;
}
