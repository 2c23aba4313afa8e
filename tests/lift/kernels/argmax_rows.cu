/* hone
{ "name": "argmax_rows",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "i32", "shape": ["M"], "role": "out"},
    {"name": "best", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "argmax", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "y", "best", "M", "N"]} ] }
*/
// lift: yes

__global__ void argmax(const float* x, int* y, float* best_out, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int where = 0;
  float best = x[r * cols];
  for (int c = 1; c < cols; ++c) {
    if (x[r * cols + c] > best) {
      best = x[r * cols + c];
      where = c;
    }
  }
  y[r] = where;
  best_out[r] = best;
}
