/* hone
{ "name": "softmax_online_branch",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"normal": [0, 3]}},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "softmax", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

// The sum is rescaled only where the maximum changes.
__global__ void softmax(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* in = x + r * cols;
  float m = -1e30f, d = 0.0f;
  for (int c = 0; c < cols; c++) {
    if (in[c] > m) {
      d = d * expf(m - in[c]) + 1.0f;
      m = in[c];
    } else {
      d += expf(in[c] - m);
    }
  }
  for (int c = 0; c < cols; c++) y[r * cols + c] = expf(in[c] - m) / d;
}
