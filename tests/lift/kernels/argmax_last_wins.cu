/* hone
{ "name": "argmax_last_wins",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "i32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "argmax", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void argmax(const float* x, int* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int where = 0;
  float best = -1e30f;
  for (int c = 0; c < cols; ++c)
    if (x[r * cols + c] >= best) best = x[r * cols + c], where = c;
  y[r] = where;
}
