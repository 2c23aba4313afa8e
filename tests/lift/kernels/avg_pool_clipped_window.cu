/* hone
{ "name": "avg_pool_clipped_window",
  "sizes": {"C": 16, "H": 64, "W": 64},
  "check_sizes": [{"C": 3, "H": 9, "W": 13}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["C", "H", "W"]},
    {"name": "y", "type": "f32", "shape": ["C", "H", "W"], "role": "out"} ],
  "launches": [
    {"kernel": "pool", "grid": ["ceildiv(W,8)", "ceildiv(H,8)", "C"], "block": [8, 8, 1],
     "args": ["x", "y", "H", "W"]} ] }
*/
// lift: yes

// The window is clipped by its loop bounds, the count with it.
__global__ void pool(const float* x, float* y, int H, int W) {
  int w = blockIdx.x * blockDim.x + threadIdx.x, h = blockIdx.y * blockDim.y + threadIdx.y;
  if (w >= W || h >= H) return;
  int h0 = max(h - 1, 0), h1 = min(h + 2, H), w0 = max(w - 1, 0), w1 = min(w + 2, W);
  float sum = 0;
  for (int i = h0; i < h1; ++i)
    for (int j = w0; j < w1; ++j) sum += x[(blockIdx.z * H + i) * W + j];
  y[(blockIdx.z * H + h) * W + w] = sum / (float)((h1 - h0) * (w1 - w0));
}
