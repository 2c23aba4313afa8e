/* hone
{ "name": "conv_transposed_stride_test",
  "sizes": {"C": 16, "K": 16, "H": 32, "W": 32},
  "check_sizes": [{"C": 3, "K": 4, "H": 6, "W": 5}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["C", "H", "W"]},
    {"name": "w", "type": "f32", "shape": ["C", "K", 4, 4]},
    {"name": "y", "type": "f32", "shape": ["K", "2*H", "2*W"], "role": "out"} ],
  "launches": [
    {"kernel": "deconv", "grid": ["ceildiv(2*W,8)", "ceildiv(2*H,8)", "K"], "block": [8, 8], "args": ["x", "w", "y", "C", "K", "H", "W"]} ] }
*/
// lift: yes

// ConvTranspose2d(4, stride 2, padding 1), gathering: taps that fall between inputs are skipped.
__global__ void deconv(const float* x, const float* w, float* y, int C, int K, int H, int W) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
  int OH = 2 * H, OW = 2 * W;
  if (ox >= OW || oy >= OH) return;
  float sum = 0;
  for (int c = 0; c < C; ++c) {
    for (int r = 0; r < 4; ++r) {
      int ty = oy + 1 - r;
      if (ty < 0 || ty % 2 != 0) continue;
      int iy = ty / 2;
      if (iy >= H) continue;
      for (int s = 0; s < 4; ++s) {
        int tx = ox + 1 - s;
        if (tx < 0 || tx % 2 != 0) continue;
        int ix = tx / 2;
        if (ix >= W) continue;
        sum += x[(c * H + iy) * W + ix] * w[((c * K + k) * 4 + r) * 4 + s];
      }
    }
  }
  y[(k * OH + oy) * OW + ox] = sum;
}
