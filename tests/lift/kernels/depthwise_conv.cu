/* hone
{ "name": "depthwise_conv",
  "sizes": {"C": 16, "H": 64, "W": 64},
  "check_sizes": [{"C": 3, "H": 9, "W": 13}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["C", "H", "W"]},
    {"name": "w", "type": "f32", "shape": ["C", 9]},
    {"name": "y", "type": "f32", "shape": ["C", "H", "W"], "role": "out"} ],
  "launches": [
    {"kernel": "dw", "grid": ["ceildiv(W*H,64)", "C"], "block": [64],
     "args": ["x", "w", "y", "H", "W"]} ] }
*/
// lift: yes

__global__ void dw(const float* x, const float* w, float* y, int H, int W) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= H * W) return;
  x += blockIdx.y * H * W;
  w += blockIdx.y * 9;
  int col = at % W, row = at / W;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 9; ++i) {
    int r = row + i / 3 - 1, c = col + i % 3 - 1;
    bool inside = r >= 0 && r < H && c >= 0 && c < W;
    sum += inside ? x[r * W + c] * w[i] : 0.0f;
  }
  y[blockIdx.y * H * W + at] = sum;
}
