// every element is read once, and coalesced already
/* hone
{"name": "m", "sizes": {"H": 256, "W": 512}, "check_sizes": [{"H": 20, "W": 70}], "buffers": [{"name": "a", "type": "f32", "shape": ["H", "W"], "fill": {"uniform": [-1, 1]}}, {"name": "s", "type": "f32", "shape": ["W"], "role": "out"}], "launches": [{"kernel": "f", "grid": ["ceildiv(W,64)"], "block": [64], "args": ["a", "s", "H", "W"]}]}
*/
__global__ void f(const float* a, float* s, int h, int w) {
  int col = blockIdx.x * 64 + threadIdx.x;
  if (col >= w) return;
  float sum = 0.f;
  for (int k = 0; k < h; ++k) sum += a[k * w + col];
  s[col] = sum;
}
