/* hone {"name": "attacked_tall_and_wide", "sizes": {"M": 1000, "N": 1000}, "check_sizes": [{"M": 33, "N": 70}, {"M": 64, "N": 40}], "specialize": false,
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"]}, {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "curve", "grid": ["ceildiv(N,32)", "M"], "block": [32], "args": ["x", "y", "M", "N"]}]} */
__global__ void curve(const float* x, float* y, int m, int n) {
  int j = blockIdx.x * 32 + threadIdx.x, at = blockIdx.y * n + j;
  if (j >= n) return;
  float v = x[at];
  y[at] = ((v * 0.5f + 1) * v - 0.25f) * v + 2;
}
