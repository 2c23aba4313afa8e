/* hone
{"name": "w", "sizes": {"P": 4, "H": 100, "W": 100}, "check_sizes": [{"P": 2, "H": 11, "W": 35}], "buffers": [{"name": "in", "type": "f32", "shape": ["P", "H+2", "W+2"], "fill": {"uniform": [-1, 1]}}, {"name": "w", "type": "f32", "shape": [9], "fill": {"uniform": [-1, 1]}}, {"name": "out", "type": "f32", "shape": ["P", "H", "W"], "role": "out"}], "launches": [{"kernel": "window", "grid": ["ceildiv(W,32)", "ceildiv(H,8)", "P"], "block": [32, 8], "args": ["in", "w", "out", "W", "H"]}]}
*/
// Pointers into the batch, doubles for the sum, both loops of a window.
__global__ void window(const float* in, const float* w, float* out, int width, int height) {
  const float* plane = in + blockIdx.z * (width + 2) * (height + 2);
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (!(x < width) || y > height - 1) return;
  double sum = 0;
  for (int r = 0; r < 3; ++r) {
    const float* line = plane + (y + r) * (width + 2) + x;
    for (int s = 0; s < 3; ++s) sum += line[s] * w[r * 3 + s];
  }
  out[(blockIdx.z * height + y) * width + x] = (float)sum;
}
