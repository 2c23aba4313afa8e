/* hone
{"name": "column_norms", "sizes": {"H": 256, "W": 1024}, "check_sizes": [{"H": 16, "W": 64}, {"H": 9, "W": 35}],
 "buffers": [
   {"name": "m", "type": "f32", "shape": ["H", "W"]},
   {"name": "bias", "type": "f32", "shape": ["H"]},
   {"name": "s", "type": "f32", "shape": ["W"], "role": "out"}],
 "launches": [
   {"kernel": "norms", "grid": ["ceildiv(W,64)"], "block": [64], "args": ["m", "bias", "s", "H", "W"]}]}
*/
// The lanes share the loop and everything that does not depend on the column.
__global__ void norms(const float* m, const float* bias, float* s, int h, int w) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < w) {
    float acc = 0.0f;
    for (int row = 0; row < h; ++row) {
      float shift = bias[row] * 2.0f;
      float v = m[row * w + col] - shift;
      if (v > 0.0f) acc += v * v;
    }
    s[col] = acc;
  }
}
