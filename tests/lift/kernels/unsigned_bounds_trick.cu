/* hone
{ "name": "unsigned_bounds_trick",
  "sizes": {"H": 512, "W": 512},
  "check_sizes": [{"H": 19, "W": 23},
                  {"H": 16, "W": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["H", "W"]},
    {"name": "y", "type": "f32", "shape": ["H", "W"], "role": "out"} ],
  "launches": [
    {"kernel": "blur", "grid": ["ceildiv(W,16)", "ceildiv(H,8)"], "block": [16, 8],
     "args": ["x", "y", "H", "W"]} ] }
*/
// lift: yes

// (unsigned)h < H is 0 <= h && h < H.
__global__ void blur(const float* x, float* y, int H, int W) {
  int w = blockIdx.x * blockDim.x + threadIdx.x, h = blockIdx.y * blockDim.y + threadIdx.y;
  if (w >= W || h >= H) return;
  float sum = 0;
  for (int dh = -1; dh <= 1; dh++)
    for (int dw = -1; dw <= 1; dw++)
      if ((unsigned)(h + dh) < (unsigned)H && (unsigned)(w + dw) < (unsigned)W)
        sum += x[(h + dh) * W + w + dw];
  y[h * W + w] = sum / 9.0f;
}
