/* hone {"name": "attacked_waves", "sizes": {"N": 524288}, "check_sizes": [{"N": 3000}, {"N": 1111}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "waves", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "y", "N"]}], "tolerance": {"rtol": 1e-4, "atol": 1e-4}} */
__global__ void waves(const float* x, float* y, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i >= n) return;
  float v = x[i], s = 0;
  for (int k = 1; k <= 8; ++k) s += cosf(100 * v * k) / k;
  y[i] = s;
}
