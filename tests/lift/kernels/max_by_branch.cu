/* hone
{ "name": "max_by_branch",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "m", "grid": ["ceildiv(M,32)"], "block": [32], "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void m(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float best = x[r * cols];
  for (int c = 1; c < cols; ++c) {
    float v = x[r * cols + c];
    if (!(best >= v)) best = v;
  }
  y[r] = best;
}
