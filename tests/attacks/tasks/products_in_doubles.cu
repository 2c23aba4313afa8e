/* hone {"name": "attacked_products_in_doubles", "sizes": {"M": 2048, "N": 512}, "check_sizes": [{"M": 33, "N": 100}, {"M": 8, "N": 129}],
  "buffers": [{"name": "a", "type": "f64", "shape": ["M", "N"], "fill": {"uniform": [-1, 1]}},
              {"name": "b", "type": "f64", "shape": ["N"], "fill": {"uniform": [-1, 1]}},
              {"name": "y", "type": "f64", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "product", "grid": ["M"], "block": [32], "args": ["a", "b", "y", "N"]}],
  "tolerance": {"rtol": 1e-9, "atol": 1e-10}} */
__global__ void product(const double* a, const double* b, double* y, int n) {
  if (threadIdx.x) return;
  double sum = 0;
  for (int j = 0; j < n; ++j) sum += a[(size_t)blockIdx.x * n + j] * b[j];
  y[blockIdx.x] = sum;
}
