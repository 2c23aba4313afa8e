/* hone
{ "name": "two_pass_variance_one_loop",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(M,32)"], "block": [32], "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

// Both passes in one loop over twice the columns.
__global__ void k(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0, squares = 0;
  for (int t = 0; t < 2 * cols; ++t) {
    if (t < cols) {
      sum += x[r * cols + t];
    } else {
      float d = x[r * cols + t - cols] - sum / cols;
      squares += d * d;
    }
  }
  y[r] = squares / cols;
}
