/* hone
{ "name": "conv3d",
  "sizes": {"C": 4, "D": 16, "H": 16, "W": 16, "O": 4},
  "check_sizes": [{"C": 2, "D": 5, "H": 6, "W": 7, "O": 3}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["C", "D", "H", "W"]},
    {"name": "w", "type": "f32", "shape": ["O", "C", 2, 2, 2]},
    {"name": "y", "type": "f32", "shape": ["O", "D-1", "H-1", "W-1"], "role": "out"} ],
  "launches": [
    {"kernel": "conv3d", "grid": ["ceildiv(W-1,4)", "ceildiv(H-1,4)", "ceildiv(D-1,4)*O"], "block": [4, 4, 4],
     "args": ["x", "w", "y", "C", "D", "H", "W", "ceildiv(D-1,4)"]} ] }
*/
// lift: yes

#define X(c, d, h, w) x[(((c) * D + (d)) * H + (h)) * W + (w)]

__global__ void conv3d(const float* x, const float* k, float* y, int C, int D, int H, int W, int slabs) {
  const int w = blockIdx.x * 4 + threadIdx.x, h = blockIdx.y * 4 + threadIdx.y;
  const int d = (blockIdx.z % slabs) * 4 + threadIdx.z, o = blockIdx.z / slabs;
  if (w >= W - 1 || h >= H - 1 || d >= D - 1) return;
  float acc = 0.0f;
  for (int c = 0; c < C; ++c)
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        for (int l = 0; l < 2; ++l)
          acc += X(c, d + i, h + j, w + l) * k[((o * C + c) * 2 + i) * 4 + j * 2 + l];
  y[((o * (D - 1) + d) * (H - 1) + h) * (W - 1) + w] = acc;
}
