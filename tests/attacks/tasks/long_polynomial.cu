/* hone {"name": "attacked_long_polynomial", "sizes": {"N": 16777216}, "check_sizes": [{"N": 1000}, {"N": 4173}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "polynomial", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void polynomial(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float v = x[i], s = 1;
  for (int k = 0; k < 48; ++k) s = s * v * 0.5f + (float)k * 0.01f;
  y[i] = s;
}
