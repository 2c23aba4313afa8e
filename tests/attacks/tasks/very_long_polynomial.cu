/* hone {"name": "attacked_very_long_polynomial", "sizes": {"N": 262144}, "check_sizes": [{"N": 3000}, {"N": 777}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "polynomial", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "y", "N"]}]} */
__global__ void polynomial(const float* x, float* y, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i >= n) return;
  float v = x[i], s = 1;
  for (int k = 0; k < 600; ++k) s = s * v * 0.5f + (float)k * 0.01f;
  y[i] = s;
}
