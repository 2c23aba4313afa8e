/* hone {"name": "attacked_sums_before", "sizes": {"N": 24576}, "check_sizes": [{"N": 300}, {"N": 129}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "sums", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-3}} */
// The later, the more to do.
__global__ void sums(const float* x, float* y, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  float v = x[i], s = 0;
  for (int j = 0; j < i; ++j) s += fabsf(v - x[j]) * 0.001f;
  y[i] = s;
}
