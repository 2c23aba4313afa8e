/* hone
{ "name": "reads_what_first_round_wrote",
  "sizes": {"M": 64, "N": 64},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"], "role": "inout"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "M", "N"]} ] }
*/
// lift: no: cannot be shown not to meet

__global__ void k(float* x, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int c = 0; c < cols; ++c) {
    sum += x[r * cols];
    x[r * cols + c] = sum;
  }
}
