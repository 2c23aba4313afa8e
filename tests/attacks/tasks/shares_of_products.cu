/* hone {"name": "attacked_shares_of_products", "sizes": {"ROWS": 2048, "N": 512}, "check_sizes": [{"ROWS": 24, "N": 256}, {"ROWS": 9, "N": 140}],
  "buffers": [{"name": "a", "type": "f32", "shape": ["ROWS", "N"], "fill": {"uniform": [0, 1]}}, {"name": "b", "type": "f32", "shape": ["ROWS", "N"], "fill": {"uniform": [0, 1]}},
              {"name": "y", "type": "f32", "shape": ["ROWS", "N"], "role": "out"}],
  "launches": [{"kernel": "shares", "grid": ["ceildiv(ROWS,32)"], "block": [32], "args": ["a", "b", "y", "ROWS", "N"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-6}} */
// a b, divided by its sum over the row.
__global__ void shares(const float* a, const float* b, float* y, int rows, int n) {
  int r = blockIdx.x * 32 + threadIdx.x;
  if (r >= rows) return;
  size_t at = (size_t)r * n;
  float s = 0;
  for (int c = 0; c < n; ++c) s += a[at + c] * b[at + c];
  for (int c = 0; c < n; ++c) y[at + c] = a[at + c] * b[at + c] / s;
}
