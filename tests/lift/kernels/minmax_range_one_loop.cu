/* hone
{ "name": "minmax_range_one_loop",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(M,32)"], "block": [32], "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void k(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * cols;
  float lo = row[0], hi = row[0];
  for (int c = 1; c < cols; ++c) {
    if (row[c] < lo) lo = row[c];
    else if (row[c] > hi) hi = row[c];
  }
  for (int c = 0; c < cols; ++c) y[r * cols + c] = (row[c] - lo) / (hi - lo + 1e-6f);
}
