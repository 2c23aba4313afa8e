/* hone {"name": "attacked_loose_softmax", "sizes": {"M": 1024, "N": 1024}, "check_sizes": [{"M": 16, "N": 200}, {"M": 5, "N": 64}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"normal": [0, 2]}},
              {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "softmax", "grid": ["M"], "block": [1], "args": ["x", "y", "N"]}],
  "tolerance": {"rtol": 1e-2, "atol": 1e-3}} */
__global__ void softmax(const float* x, float* y, int n) {
  x += (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  float most = x[0], sum = 0;
  for (int j = 1; j < n; ++j) most = fmaxf(most, x[j]);
  for (int j = 0; j < n; ++j) sum += expf(x[j] - most);
  for (int j = 0; j < n; ++j) y[j] = expf(x[j] - most) / sum;
}
