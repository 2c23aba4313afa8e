/* hone
{ "name": "bilinear_resize",
  "sizes": {"H": 64, "W": 64},
  "check_sizes": [{"H": 9, "W": 7}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["H", "W"]},
    {"name": "y", "type": "f32", "shape": ["2*H", "2*W"], "role": "out"} ],
  "launches": [
    {"kernel": "resize", "grid": ["ceildiv(2*W,8)", "ceildiv(2*H,8)"], "block": [8, 8],
     "args": ["x", "y", "H", "W"]} ] }
*/
// lift: yes

__global__ void resize(const float* x, float* y, int H, int W) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y * blockDim.y + threadIdx.y;
  if (ox >= 2 * W || oy >= 2 * H) return;
  float fx = fmaxf((ox + 0.5f) * 0.5f - 0.5f, 0.f), fy = fmaxf((oy + 0.5f) * 0.5f - 0.5f, 0.f);
  int x0 = (int)fx, y0 = (int)floorf(fy);
  int x1 = min(x0 + 1, W - 1), y1 = y0 + 1 < H ? y0 + 1 : H - 1;
  float ax = fx - x0, ay = fy - y0;
  float top = x[y0 * W + x0] * (1 - ax) + x[y0 * W + x1] * ax;
  float low = x[y1 * W + x0] * (1 - ax) + x[y1 * W + x1] * ax;
  y[oy * 2 * W + ox] = top * (1 - ay) + low * ay;
}
