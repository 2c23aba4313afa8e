/* hone
{ "name": "running_mean_rows",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "mean", "grid": ["ceildiv(M,32)"], "block": [32], "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void mean(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float m = x[r * cols];
  for (int c = 1; c < cols; ++c) m += (x[r * cols + c] - m) / (c + 1);
  y[r] = m;
}
