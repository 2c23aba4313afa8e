/* hone
{ "name": "early_return_in_loop",
  "sizes": {"M": 64, "N": 8192},
  "check_sizes": [{"M": 33, "N": 8192}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "inout"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "y", "M", "N"]} ] }
*/
// lift: no: a return inside a loop

__global__ void k(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int c = 0; c < cols; ++c)
    if (x[r * cols + c] > 0.999f) {
      y[r] = c;
      return;
    }
  y[r] = -1;
}
