/* hone {"name": "a6_sums_of_rows", "sizes": {"ROWS": 2048, "N": 2048}, "check_sizes": [{"ROWS": 24, "N": 256}, {"ROWS": 9, "N": 300}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "N"], "fill": {"uniform": [0, 1]}}, {"name": "y", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "sums", "grid": ["ceildiv(ROWS,32)"], "block": [32], "args": ["x", "y", "ROWS", "N"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5}} */
__global__ void sums(const float* x, float* y, int rows, int n) {
  int r = blockIdx.x * 32 + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int c = 0; c < n; ++c) s += x[(size_t)r * n + c];
  y[r] = s;
}
