/* hone
{ "name": "max_pool2d",
  "sizes": {"PLANES": 8192, "H": 112, "W": 112},
  "check_sizes": [{"PLANES": 4, "H": 16, "W": 16}, {"PLANES": 3, "H": 20, "W": 24},
                  {"PLANES": 5, "H": 17, "W": 23}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["PLANES", "H", "W"], "fill": {"normal": [0, 1]}},
    {"name": "y", "type": "f32", "shape": ["PLANES", "(H-1)/2+1", "(W-1)/2+1"], "role": "out"} ],
  "launches": [
    {"kernel": "max_pool2d", "grid": ["ceildiv(PLANES*((H-1)/2+1)*((W-1)/2+1),256)"],
     "block": [256], "args": ["x", "y", "PLANES", "H", "W", "(H-1)/2+1", "(W-1)/2+1"]} ],
  "tolerance": {"rtol": 0, "atol": 0},
  "torch": "torch.nn.functional.max_pool2d(x, 3, stride=2, padding=1)" }
*/

// 3x3 window, stride 2, padding 1, as after the first layer of a ResNet. A plane is one channel of
// one image.
__global__ void max_pool2d(const float* x, float* y, int planes, int h, int w, int oh, int ow) {
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  int total = planes * oh * ow;
  if (tid < total) {
    int ox = tid % ow;
    int oy = (tid / ow) % oh;
    int plane = tid / (ow * oh);

    float best = -3.402823466e+38f;
    for (int dy = -1; dy <= 1; dy++) {
      for (int dx = -1; dx <= 1; dx++) {
        int iy = oy * 2 + dy;
        int ix = ox * 2 + dx;
        if (iy >= 0 && iy < h && ix >= 0 && ix < w) {
          float v = x[(plane * h + iy) * w + ix];
          if (v > best) best = v;
        }
      }
    }
    y[tid] = best;
  }
}
