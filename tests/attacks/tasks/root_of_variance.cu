/* hone {"name": "attacked_root_of_variance", "sizes": {"M": 1024, "N": 4096}, "check_sizes": [{"M": 16, "N": 200}, {"M": 5, "N": 512}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"normal": [1, 1]}},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "spread", "grid": ["M"], "block": [1], "args": ["x", "y", "N"]}],
  "tolerance": {"rtol": 1e-2, "atol": 1e-3}} */
__global__ void spread(const float* x, float* y, int n) {
  x += (size_t)blockIdx.x * n;
  float sum = 0, squares = 0;
  for (int j = 0; j < n; ++j) sum += x[j];
  float mean = sum / n;
  for (int j = 0; j < n; ++j) squares += (x[j] - mean) * (x[j] - mean);
  y[blockIdx.x] = sqrtf(squares / n);
}
