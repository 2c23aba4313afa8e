/* hone
{"name": "c", "sizes": {"C": 16, "H": 40, "W": 40}, "check_sizes": [{"C": 3, "H": 13, "W": 19}], "buffers": [{"name": "in", "type": "f32", "shape": ["C", "H", "W"], "fill": {"uniform": [-1, 1]}}, {"name": "w", "type": "f32", "shape": ["C", 3, 3], "fill": {"uniform": [-1, 1]}}, {"name": "out", "type": "f32", "shape": ["H", "W"], "role": "out"}], "launches": [{"kernel": "conv", "grid": ["ceildiv(W,16)", "ceildiv(H,16)"], "block": [16, 16], "args": ["in", "w", "out", "C", "H", "W"]}]}
*/
// Zero padding: the loads are conditional, and the window slides over a clamped coordinate.
__global__ void conv(const float* in, const float* w, float* out, int C, int H, int W) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= W || y >= H) return;
  float sum = 0.0f;
  for (int c = 0; c < C; c++) {
    for (int r = 0; r < 3; r++) {
      for (int s = 0; s < 3; s++) {
        int iy = y + r - 1;
        int ix = x + s - 1;
        if (iy >= 0 && iy < H && ix >= 0 && ix < W) {
          sum += in[(c * H + iy) * W + ix] * w[(c * 3 + r) * 3 + s];
        }
      }
    }
  }
  out[y * W + x] = sum;
}
