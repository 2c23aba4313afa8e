/* hone
{ "name": "flat_loop_over_two_dims",
  "sizes": {"B": 8, "H": 32, "W": 32},
  "check_sizes": [{"B": 5, "H": 7, "W": 9}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["B", "H", "W"]},
    {"name": "w", "type": "f32", "shape": ["H"]},
    {"name": "y", "type": "f32", "shape": ["B"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(B,32)"], "block": [32], "args": ["x", "w", "y", "B", "H", "W"]} ] }
*/
// lift: yes

// One loop over height x width with a carried row and column.
__global__ void k(const float* x, const float* w, float* y, int B, int H, int W) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= B) return;
  float s = 0;
  int h = 0, c = 0;
  for (int i = 0; i < H * W; ++i) {
    s += x[b * H * W + i] * w[h];
    if (++c == W) { c = 0; ++h; }
  }
  y[b] = s;
}
