/* hone
{ "name": "avg_pool_counts_valid",
  "sizes": {"C": 32, "H": 64, "W": 64},
  "check_sizes": [{"C": 3, "H": 9, "W": 11}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["C", "H", "W"]},
    {"name": "y", "type": "f32", "shape": ["C", "H", "W"], "role": "out"} ],
  "launches": [
    {"kernel": "pool", "grid": ["ceildiv(W,8)", "ceildiv(H,8)", "C"], "block": [8, 8], "args": ["x", "y", "C", "H", "W"]} ] }
*/
// lift: yes

__global__ void pool(const float* x, float* y, int C, int H, int W) {
  int w = blockIdx.x * blockDim.x + threadIdx.x, h = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.z;
  if (h >= H || w >= W) return;
  float sum = 0;
  int count = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      int yy = h + dy, xx = w + dx;
      if (yy >= 0 && yy < H && xx >= 0 && xx < W) {
        sum += x[(c * H + yy) * W + xx];
        ++count;
      }
    }
  y[(c * H + h) * W + w] = sum / count;
}
