/* hone {"name": "attacked_gauss_in_doubles", "sizes": {"N": 65536, "K": 24}, "check_sizes": [{"N": 300, "K": 6}, {"N": 77, "K": 9}],
  "buffers": [{"name": "x", "type": "f64", "shape": ["N"]}, {"name": "c", "type": "f64", "shape": ["K"]}, {"name": "y", "type": "f64", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "gauss", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "c", "y", "N", "K"]}], "tolerance": {"rtol": 1e-9, "atol": 1e-12}} */
__global__ void gauss(const double* x, const double* c, double* y, int n, int m) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  double s = 0;
  for (int j = 0; j < m; ++j) s += exp(-(x[i] - c[j]) * (x[i] - c[j]));
  y[i] = s;
}
